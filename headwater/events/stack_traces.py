"""Stack traces as producers print them, taken apart: what was the cause, what followed from it.

Java prints the last exception first and `Caused by:` behind it, Python the first one first; PySpark puts Python's whole
trace into the message of a Java exception, and Spark repeats that message in every exception around it.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

_MOST = 20
"""Exceptions of one chain that are shown."""

_CAUSED = "Caused by: "
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r"\s*(?:at \S+\(|\.\.\. \d+ (?:more|common frames omitted))")
_NEXT = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)


class Raised(NamedTuple):
    """An exception: what it says in one line, and the lines that tell more of it."""

    what: str
    trace: tuple[str, ...]


def causes(text: str) -> list[Raised]:
    """Return the exceptions of a printed stack trace, the cause of all first; none of a text without frames."""
    lines = text.splitlines()
    if not any(_TRACEBACK in line or _FRAME.match(line) for line in lines):
        return []
    begins = [0, *(at for at, line in enumerate(lines) if at and line.startswith(_CAUSED)), len(lines)]
    links = [lines[one:other] for one, other in pairwise(begins)]
    found = (each for link in reversed(links) for each in _raised(link))
    return list(dict.fromkeys(found))[:_MOST]


def _raised(link: Sequence[str]) -> Iterator[Raised]:
    """Yield what was raised in Python before, then the exception that a link of the chain is about."""
    frames = next((at for at, line in enumerate(link) if _FRAME.match(line)), len(link))
    python = next((at for at, line in enumerate(link[:frames]) if _TRACEBACK in line), None)
    if python is None:
        yield _shown(link[0].removeprefix(_CAUSED), link[1:])
        return
    yield from _of_python([link[python].partition(_TRACEBACK)[1], *link[python + 1 : frames]])
    around = [*link[:python], link[python].partition(_TRACEBACK)[0]]
    if any(line.strip() for line in around) or frames < len(link):
        yield _shown(around[0].removeprefix(_CAUSED).rstrip(": "), [*around[1:], *link[frames:]])


def _of_python(lines: Sequence[str]) -> Iterator[Raised]:
    begins = [at for at, line in enumerate(lines) if line == _TRACEBACK]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        own = [line for line in lines[begin:end] if line not in _NEXT]
        said = next((at for at, line in enumerate(own) if at and line.strip() and not line.startswith(" ")), 0)
        yield _shown(own[said], [line for at, line in enumerate(own) if at != said])


def _shown(what: str, trace: Sequence[str]) -> Raised:
    while trace and not trace[-1].strip():
        trace = trace[:-1]
    return Raised(what.strip(), tuple(trace))
