"""What was found by parts of names, as answers show it."""

from collections.abc import Sequence

from headwater.events.times import iso
from headwater.index.search import Search
from headwater.index.search_file import KINDS, Hit
from headwater.questions.answers.columns import Found, SearchAnswer
from headwater.questions.answers.parts import Dataset


def found_by(search: Search, text: str, *, kinds: Sequence[str] = (), limit: int) -> SearchAnswer:
    """Answer what is called so, best first: by match, by how many jobs use it, by when it was last used.

    kinds: only these; none means all. Raises WrongQuestion, or LakeUnavailable while there is no index.
    """
    hits, cut = search.find(text, kinds=kinds)
    return SearchAnswer([_found(hit) for hit in hits[:limit]], len(hits), cut or len(hits) > limit)


def _found(hit: Hit) -> Found:
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
