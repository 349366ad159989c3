"""Splits printed stack traces into their exceptions, root cause first.

Java prints the last exception first, followed by `Caused by:`; Python prints the first exception first. PySpark puts
the whole Python trace into the message of a Java exception, and Spark repeats it in every enclosing exception.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

_MOST = 20
"""Maximum number of exceptions per chain."""

_CAUSED = "Caused by: "
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r"\s*(?:at \S+\(|\.\.\. \d+ (?:more|common frames omitted))")
_NEXT = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)


class TracedException(NamedTuple):
    """An exception: its message line (`what`), and the other lines of its trace."""

    what: str
    trace: tuple[str, ...]

    @property
    def is_python(self) -> bool:
        """Whether it is a Python exception, whose last lines are closest to the raise."""
        return self.trace[:1] == (_TRACEBACK,)


def causes(text: str) -> list[TracedException]:
    """Return the exceptions of a printed stack trace, root cause first; none for a text without frames."""
    lines = text.splitlines()
    if not any(_TRACEBACK in line or _FRAME.match(line) for line in lines):
        return []
    begins = [0, *(at for at, line in enumerate(lines) if at and line.startswith(_CAUSED)), len(lines)]
    links = [lines[one:other] for one, other in pairwise(begins)]
    found = (each for link in reversed(links) for each in _raised(link))
    return list(dict.fromkeys(found))[:_MOST]


def _raised(link: Sequence[str]) -> Iterator[TracedException]:
    """Yield the Python exceptions inside one Java exception of the chain, then the Java exception."""
    frames = next((at for at, line in enumerate(link) if _FRAME.match(line)), len(link))
    python = next((at for at, line in enumerate(link[:frames]) if _TRACEBACK in line), None)
    if python is None:
        yield _shown(link[0].removeprefix(_CAUSED), link[1:])
        return
    yield from _of_python([link[python].partition(_TRACEBACK)[1], *link[python + 1 : frames]])
    around = [*link[:python], link[python].partition(_TRACEBACK)[0]]
    if any(line.strip() for line in around) or frames < len(link):
        yield _shown(around[0].removeprefix(_CAUSED).rstrip(": "), [*around[1:], *link[frames:]])


def _of_python(lines: Sequence[str]) -> Iterator[TracedException]:
    begins = [at for at, line in enumerate(lines) if line == _TRACEBACK]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        own = [line for line in lines[begin:end] if line not in _NEXT]
        said = next((at for at, line in enumerate(own) if at and line.strip() and not line.startswith(" ")), 0)
        yield _shown(own[said], [line for at, line in enumerate(own) if at != said])


def _shown(what: str, trace: Sequence[str]) -> TracedException:
    while trace and not trace[-1].strip():
        trace = trace[:-1]
    return TracedException(what.strip(), tuple(trace))
