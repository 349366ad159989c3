"""What was found by parts of names, as answers show it."""

from collections.abc import Sequence

from headwater.events.times import iso
from headwater.index.reading.index_search import Search
from headwater.index.reading.search_file import KINDS, SearchHit
from headwater.questions.answers.answer_parts import Dataset
from headwater.questions.answers.column_answers import Found, SearchAnswer


def found_by(search: Search, text: str, *, kinds: Sequence[str] = (), limit: int) -> SearchAnswer:
    """Answer what is called so, best first: by match, by how many jobs use it, by when it was last used.

    kinds: only these; none means all. Raises WrongQuestion, or LakeUnavailable while there is no index.
    """
    hits, cut = search.find(text, kinds=kinds)
    return SearchAnswer([_found(hit) for hit in hits[:limit]], len(hits), cut or len(hits) > limit)


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
