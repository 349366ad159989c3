"""The question `search`: search hits as an answer."""

from collections.abc import Collection, Sequence

from headwater.common.paging import ListPage, RowOrder
from headwater.events.times import iso_time
from headwater.index.reading.search import Search
from headwater.index.reading.search_file import KINDS, SearchHit
from headwater.lineage.names.dataset_name import Name
from headwater.questions.answer_types.columns import Found, SearchAnswer
from headwater.questions.answer_types.common import Dataset


def search_answer(
    search: Search, text: str, *, kinds: Sequence[str] = (), exact_datasets: Collection[Name] = (), page: ListPage
) -> SearchAnswer:
    """Answer search hits, best first: by match, then by the number of jobs that use the hit, then by last use.

    kinds: return only hits of these kinds; empty returns all. exact_datasets: datasets with the text as a complete name
    (from `datasets_with_complete_name`).
    Raises WrongQuestion, or LakeUnavailable while there is no index.
    """
    hits, truncated = search.find_hits(text, kinds=kinds, exact_datasets=exact_datasets)
    listed = _ORDER.page(hits, page)._replace(is_partial=truncated)
    return SearchAnswer([_to_found(hit) for hit in listed.rows], **listed.info)


_ORDER = RowOrder[SearchHit](
    "search",
    {
        "match": lambda hit: hit.score, "kind": lambda hit: KINDS[hit.kind],
        "name": lambda hit: hit.dataset_or_job.name,
        "namespace": lambda hit: hit.dataset_or_job.namespace,
        "uses": lambda hit: -hit.negative_uses, "last_seen": lambda hit: -hit.age,
    },
    "match",
    lambda hit: (
        *(hit.kind, hit.negative_uses, hit.age, *hit.dataset_or_job.parts, hit.column, hit.tag),
        *(hit.alias_target or ("", ""))[:2],
    ),
    ties=9,
)  # fmt: skip


def _to_found(hit: SearchHit) -> Found:
    return Found(
        KINDS[hit.kind],
        *hit.dataset_or_job.parts,
        hit.column or None,
        hit.tag or None,
        None if hit.alias_target is None else Dataset(*hit.alias_target.parts),
        hit.match,
        -hit.negative_uses,
        iso_time(-hit.age) if hit.age else None,
    )
