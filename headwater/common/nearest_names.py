"""Find the known names most similar to an unknown one, to suggest them after a typing mistake."""

import re
from collections.abc import Iterable, Sequence
from heapq import nsmallest

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

NEAREST = 5
"""Number of names that an error suggests."""

_MIN_SIMILARITY = 0.5
_LAST_PART, _WORD = 0.95, 0.7
"""Weights of two comparisons: of last parts, and of one word with a word of a last part.

The comparison of whole names has weight 1.
"""

_MIN_SUBSTRING = 3
"""Minimum length of a text to match as a substring; shorter texts occur in too many names."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")


def words_of(text: str) -> list[str]:
    """Return the words of a name, casefolded: `dimCustomer_v2` is dim, customer, v, 2."""
    return [word.casefold() for word in _WORDS.findall(text)]


def distinct_words(text: str) -> set[str]:
    """Return the distinct words of a name, casefolded. The path of a nested column repeats a few words many times."""
    return {word.casefold() for word in set(_WORDS.findall(text))}


def count_typos(asked: str, known: str, max_typos: int) -> int:
    """Return the number of typing mistakes between two texts, at most `max_typos` + 1.

    A mistake is a changed, missing or extra letter, or two swapped neighbours (optimal string alignment).
    """
    return int(OSA.distance(asked, known, score_cutoff=max_typos))


def nearest_names(
    asked: str, known: Iterable[str], limit: int = NEAREST, min_similarity: float = _MIN_SIMILARITY
) -> list[str]:
    """Return the known names most similar to `asked`, best first. Case is ignored.

    `/`, `.` and `:` separate the parts of a name. Three comparisons are made, and the best similarity counts: of the
    whole names, of only as many last parts as `asked` has, and of only the last part. If the last part of `asked` is a
    single word, it is also compared with each word of a known last part. A known last part that contains the last part
    of `asked` has at least the similarity `min_similarity`.
    min_similarity: the minimum similarity of the returned names; 1 means equality.
    """
    names = sorted(known)
    texts = [_with_slashes_for_dots(name).casefold() for name in names]
    whole = _with_slashes_for_dots(asked).casefold()
    own, last = whole.count("/") + 1, whole.rpartition("/")[2]
    if not last:
        return []
    ends = [text.rpartition("/")[2] for text in texts]
    scores: dict[int, float] = {}
    if len(last) >= _MIN_SUBSTRING:
        scores = {place: min_similarity for place, end in enumerate(ends) if last in end}
    _update_scores(scores, whole, texts, 1, min_similarity)
    _update_scores(scores, whole, ["/".join(text.rsplit("/", own)[-own:]) for text in texts], 1, min_similarity)
    _update_scores(scores, last, ends, _LAST_PART, min_similarity)
    if len(words_of(last)) == 1:
        words = [(place, word) for place, name in enumerate(names) for word in _words_for_comparison(name)]
        _update_scores(
            scores, last, [word for _, word in words], _WORD, min_similarity, indexes=[place for place, _ in words]
        )

    def sort_key(place: int) -> tuple[float, int, str]:
        return -scores[place], OSA.distance(whole, texts[place]), names[place]

    return [names[place] for place in nsmallest(limit, scores, key=sort_key)]


def _with_slashes_for_dots(name: str) -> str:
    return name.replace(".", "/").replace(":", "/").strip("/")


def _words_for_comparison(name: str) -> list[str]:
    return words_of(_with_slashes_for_dots(name).rpartition("/")[2])


def _update_scores(
    scores: dict[int, float],
    asked: str,
    texts: Sequence[str],
    weight: float,
    min_similarity: float,
    *,
    indexes: Sequence[int] = (),
) -> None:
    """Raise the score of each name to its similarity with `asked`, times `weight`, if that is higher.

    scores: maps the index of a name to its best similarity; updated in place. indexes: the index of the name that each
    text belongs to. If `indexes` is empty, the texts have the same indexes as the names.
    """
    cutoff = min(min_similarity / weight, 1.0)
    for _, score, at in extract(asked, texts, scorer=OSA.normalized_similarity, score_cutoff=cutoff, limit=None):
        place = indexes[at] if indexes else at
        scores[place] = max(scores.get(place, 0.0), weight * score)
