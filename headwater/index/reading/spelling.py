"""Words that are nearly what was typed: a bounded number of letters wrong, too many, missing or swapped."""

from collections.abc import Iterable, Iterator
from operator import itemgetter

from headwater.nearest_names import count_typos

_ROUGH, _SURE = 4, 8


def slips(term: str) -> int:
    """Return how many slips a term may have: 0 below 4 letters, 1 up to 7, then 2; none with digits in it."""
    if not term.isalpha() or len(term) < _ROUGH:
        return 0
    return 1 if len(term) < _SURE else 2


def distance(term: str, word: str, most: int) -> int | None:
    """Return the slips between a term and the nearest beginning of a word; None if they are more than `most`."""
    lengths = range(len(term) - most, min(len(word), len(term) + most) + 1)
    found = min((count_typos(term, word[:length], most) for length in lengths), default=most + 1)
    return found if found <= most else None


class Vocabulary:
    """Words, to be found again by what is nearly one of them: those that lack too many letters are not looked at."""

    def __init__(self) -> None:
        """Know no word yet."""
        self._words: list[tuple[int, str]] = []

    def add(self, words: Iterable[str]) -> None:
        """Learn words, each once."""
        self._words.extend((_letters(word), word) for word in words if len(word) >= _ROUGH - 1 and word.isalpha())

    def near(self, term: str, limit: int) -> list[str]:
        """Return the words that begin nearly like a term, nearest first."""
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
