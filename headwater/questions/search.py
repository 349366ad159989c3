"""The question `search`: search hits as an answer."""

from collections.abc import Collection, Sequence

from headwater.common.paging import ListPage, RowOrder
from headwater.events.times import iso
from headwater.index.reading.search import Search
from headwater.index.reading.search_file import KINDS, SearchHit
from headwater.lineage.names.dataset_name import Name
from headwater.questions.answer_types.columns import Found, SearchAnswer
from headwater.questions.answer_types.common import Dataset


def found_by(
    search: Search, text: str, *, kinds: Sequence[str] = (), named: Collection[Name] = (), page: ListPage
) -> SearchAnswer:
    """Answer search hits, best first: by match, by the number of jobs that use them, by last use.

    kinds: only these, empty for all. named: datasets that the text names (`datasets_named`).
    Raises WrongQuestion, or LakeUnavailable while there is no index.
    """
    hits, truncated = search.find(text, kinds=kinds, named=named)
    listed = _ORDER.page(hits, page)._replace(is_partial=truncated)
    return SearchAnswer([_found(hit) for hit in listed.rows], **listed.info)


_ORDER = RowOrder[SearchHit](
    "search",
    {
        "match": lambda hit: hit.score, "kind": lambda hit: KINDS[hit.kind], "name": lambda hit: hit.whole.name,
        "namespace": lambda hit: hit.whole.namespace, "uses": lambda hit: -hit.rare, "last_seen": lambda hit: -hit.age,
    },
    "match",
    lambda hit: (hit.kind, hit.rare, hit.age, *hit.whole.parts, hit.column, hit.tag, *(hit.means or ("", ""))[:2]),
    ties=9,
)  # fmt: skip


def _found(hit: SearchHit) -> Found:
    return Found(
        KINDS[hit.kind],
        *hit.whole.parts,
        hit.column or None,
        hit.tag or None,
        None if hit.means is None else Dataset(*hit.means.parts),
        hit.match,
        -hit.rare,
        iso(-hit.age) if hit.age else None,
    )
