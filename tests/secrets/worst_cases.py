"""Texts built to be slow for a rule: its own words and the characters of its classes, repeated and interleaved."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from string import punctuation
from typing import Any

from headwater.events.redaction_rules import Rule

SIZE = 2_000
"""Characters of a text in `reads_on`."""

SIZES = (10_000, 20_000, 40_000)
LARGEST_RATIO = 2.6
"""Of the CPU time of a text twice as long: linear is 2, quadratic 4."""

_MANY = 20
_TOO_SHORT_S = 0.004
_LITERAL = re.compile(r"(?<!\\)[A-Za-z%.:/=-][A-Za-z0-9%.:/=_-]+")
_NOT_LITERAL = re.compile(r"\(\?[a-zA-Z-]*:|\(\?P<\w+>|\[[^\]]*\]|\{[\d,]*\}|\\[a-zA-Z]|[\\?+*()^$|]")
_MEMBERS = [*punctuation, *" \t\n\r", "a", "Z", "0", "ab", "7Q", "''", '""', '\\"', "a=", "x ", "\u00fc"]


def worst_cases(rule: Rule, found: Sequence[str], count: int) -> Iterator[tuple[str, str]]:
    """Yield (beginning, what is repeated after it), the same ones each time; found: texts that the rule changes."""
    pattern = rule.pattern.pattern.decode()
    words = sorted({*_LITERAL.findall(_NOT_LITERAL.sub("\n", pattern)), *(n.decode() for n in rule.needles if n)})
    chance = Random(rule.name)
    yield from (("", word) for word in words[:count])
    for _ in range(count):
        pieces = chance.choices(words, k=chance.randint(1, 2)) + chance.choices(_MEMBERS, k=chance.randint(1, 3))
        chance.shuffle(pieces)
        yield "".join(chance.choices([*words, *_MEMBERS, ""], k=2)), "".join(pieces)
    yield from (("".join(chance.choices(words, k=2)) + "=", member) for member in _MEMBERS)
    for text in found:
        yield from (("", text), (text[: chance.randrange(len(text))], chance.choice(_MEMBERS)))
        for _ in range(count // 10):
            first, last = sorted(chance.sample(range(len(text) + 1), 2))
            begin = text[: chance.randrange(len(text))] if chance.random() < 0.5 else ""
            yield begin, text[first:last] + chance.choice(["", *_MEMBERS])


def repeated(case: tuple[str, str], size: int) -> bytes:
    """Return a worst case of this many characters."""
    begin, unit = case
    return (begin + unit * (size // len(unit) + 1))[:size].encode()


def endings(pattern: Any, found: Sequence[str]) -> list[bytes]:
    """Return every suffix of the matches of a pattern in these texts."""
    matches = {match.group() for text in found for match in pattern.finditer(text.encode())}
    return sorted({match[at:] for match in matches for at in range(len(match))})


def reads_on(pattern: Any, case: tuple[str, str], ends: Sequence[bytes]) -> bool:
    """Tell whether RE2 reads to the end of the text for one of many matches, so that all together are quadratic.

    One search of RE2 is linear. It reads past a match only while the match can still become longer. In this case one of
    the `ends`, appended to the text, makes the match reach the end.
    """
    text = repeated(case, SIZE)
    starts = [match.start() for match in pattern.finditer(text)]
    if len(starts) < _MANY:
        return False
    middle = starts[len(starts) // 2]
    longer = (pattern.search(text + end, middle) for end in ends)
    return any(match and match.start() == middle and match.end() > len(text) for match in longer)


def growth(work: Callable[[bytes], object], case: tuple[str, str], *, most: int = 40) -> float:
    """Return by how much CPU time grows if the text doubles: the least of some tries; 0 if the time is too short."""
    tries = [_doubling(work, case)]
    while tries[-1] > LARGEST_RATIO and len(tries) < most:
        tries.append(_doubling(work, case))
    return min(tries)


def _doubling(work: Callable[[bytes], object], case: tuple[str, str]) -> float:
    spent = [_cpu(work, repeated(case, size)) for size in SIZES]
    return 0.0 if spent[-1] < _TOO_SHORT_S else (spent[-1] / max(spent[0], 1e-6)) ** 0.5


def _cpu(work: Callable[[bytes], object], text: bytes) -> float:
    began = time.thread_time()  # other threads of the tests work meanwhile
    work(text)
    return time.thread_time() - began
