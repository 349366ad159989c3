"""Words that are nearly what was typed: a bounded number of letters wrong, too many, missing or swapped."""

import re
from collections.abc import Iterable, Iterator
from operator import itemgetter

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_ROUGH, _SURE = 4, 8


def words_of(text: str) -> list[str]:
    """Return the words of a name, casefolded: `dimCustomer_v2` is dim, customer, v, 2."""
    return [word.casefold() for word in _WORDS.findall(text)]


def slips(term: str) -> int:
    """Return how many slips a term may have: 0 below 4 letters, 1 up to 7, then 2; none with digits in it."""
    if not term.isalpha() or len(term) < _ROUGH:
        return 0
    return 1 if len(term) < _SURE else 2


def distance(term: str, word: str, most: int) -> int | None:
    """Return the slips between a term and the nearest beginning of a word; None if they are more than `most`.

    A slip is a letter changed, left out, put in, or swapped with its neighbour.
    """
    before: list[int] = []
    row = list(range(len(word) + 1))
    for at, letter in enumerate(term, 1):
        older, before, row = before, row, [at]
        for column, other in enumerate(word, 1):
            best = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != other))
            if at > 1 and column > 1 and letter == word[column - 2] and term[at - 2] == other:
                best = min(best, older[column - 2] + 1)
            row.append(best)
        if min(row) > most and (not before or min(before) > most):
            return None
    found = min(row)
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
                found = distance(term, word[: len(term) + most], most)
                if found is not None:
                    yield found, word


def _letters(word: str) -> int:
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 31)
    return mask
