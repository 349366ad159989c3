"""Find the known names that are most like an unknown one: errors and search suggest them after a typing mistake."""

import re
from collections.abc import Iterable, Sequence
from heapq import nsmallest

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

NEAREST = 5
"""How many names an error suggests."""

_LEAST = 0.5
_LAST_PART, _WORD = 0.95, 0.7
"""What two equal last parts count, and a last part that has the word that was asked for; two equal names count 1."""

_SHORTEST = 3
"""A shorter text is contained in too many names to be a hint."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")


def words_of(text: str) -> list[str]:
    """Return the words of a name, casefolded: `dimCustomer_v2` is dim, customer, v, 2."""
    return [word.casefold() for word in _WORDS.findall(text)]


def distinct_words(text: str) -> set[str]:
    """Return the words of a name, each once; the path of a nested column repeats few words often."""
    return {word.casefold() for word in set(_WORDS.findall(text))}


def slips_between(asked: str, known: str, most: int) -> int:
    """Return the slips between two texts, `most` + 1 if there are more.

    A slip is a letter changed, left out, put in, or swapped with its neighbour (optimal string alignment).
    """
    return int(OSA.distance(asked, known, score_cutoff=most))


def nearest(asked: str, known: Iterable[str], limit: int = NEAREST, least: float = _LEAST) -> list[str]:
    """Return the known names that are most like one that was asked for, the most similar first, regardless of case.

    Names are compared as a whole, by as many last parts as the asked name has, and by the last part alone; `/`, `.` and
    `:` separate parts. A single word is also compared with each word of the last part. A name whose last part contains
    that of the asked name is similar, too. least: the smallest similarity that counts; 1 is equality.
    """
    names = sorted(known)
    texts = [_with_slashes(name).casefold() for name in names]
    whole = _with_slashes(asked).casefold()
    own, last = whole.count("/") + 1, whole.rpartition("/")[2]
    if not last:
        return []
    ends = [text.rpartition("/")[2] for text in texts]
    scores: dict[int, float] = {}
    if len(last) >= _SHORTEST:
        scores = {place: least for place, end in enumerate(ends) if last in end}
    _compare(scores, whole, texts, 1, least)
    _compare(scores, whole, ["/".join(text.rsplit("/", own)[-own:]) for text in texts], 1, least)
    _compare(scores, last, ends, _LAST_PART, least)
    if len(words_of(last)) == 1:
        words = [(place, word) for place, name in enumerate(names) for word in _words(name)]
        _compare(scores, last, [word for _, word in words], _WORD, least, of=[place for place, _ in words])

    def order(place: int) -> tuple[float, int, str]:
        return -scores[place], OSA.distance(whole, texts[place]), names[place]

    return [names[place] for place in nsmallest(limit, scores, key=order)]


def _with_slashes(name: str) -> str:
    return name.replace(".", "/").replace(":", "/").strip("/")


def _words(name: str) -> list[str]:
    return words_of(_with_slashes(name).rpartition("/")[2])


def _compare(
    scores: dict[int, float], asked: str, texts: Sequence[str], weight: float, least: float, *, of: Sequence[int] = ()
) -> None:
    """Keep the best similarity of each name. of: the places of the names that have the texts, if not their own."""
    cutoff = min(least / weight, 1.0)
    for _, score, at in extract(asked, texts, scorer=OSA.normalized_similarity, score_cutoff=cutoff, limit=None):
        place = of[at] if of else at
        scores[place] = max(scores.get(place, 0.0), weight * score)
