"""Find words that are similar to a typed term: a few letters may be wrong, extra, missing or swapped."""

from collections.abc import Iterable, Iterator
from operator import itemgetter

from headwater.common.nearest_names import count_typos

_ROUGH, _SURE = 4, 8


def slips(term: str) -> int:
    """Return how many typos a term may have: 0 below 4 letters or with digits, 1 up to 7 letters, then 2."""
    if not term.isalpha() or len(term) < _ROUGH:
        return 0
    return 1 if len(term) < _SURE else 2


def distance(term: str, word: str, most: int) -> int | None:
    """Return the number of typos between a term and the most similar prefix of a word, or None above `most`."""
    lengths = range(len(term) - most, min(len(word), len(term) + most) + 1)
    found = min((count_typos(term, word[:length], most) for length in lengths), default=most + 1)
    return found if found <= most else None


class Vocabulary:
    """A searchable set of words. A bit mask of letters rules out most words without a full comparison."""

    def __init__(self) -> None:
        self._words: list[tuple[int, str]] = []

    def add(self, words: Iterable[str]) -> None:
        """Add words. Words must not be added twice."""
        self._words.extend((_letters(word), word) for word in words if len(word) >= _ROUGH - 1 and word.isalpha())

    def near(self, term: str, limit: int) -> list[str]:
        """Return the words with a prefix similar to a term, most similar first."""
        most = slips(term)
        return [word for _, word in sorted(self._near(term, most), key=itemgetter(0, 1))[:limit]] if most else []

    def _near(self, term: str, most: int) -> Iterator[tuple[int, str]]:
        letters, shortest = _letters(term), len(term) - most
        for mask, word in self._words:
            if (letters & ~mask).bit_count() <= most and len(word) >= shortest:
                found = distance(term, word, most)
                if found is not None:
                    yield found, word


def _letters(word: str) -> int:
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 31)
    return mask
