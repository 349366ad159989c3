"""The events of a file, each with what is wrong with it: what `headwater validate` prints."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import InvalidEvent
from headwater.events.event_files import LONGEST_LINE, EventText, read_event_texts
from headwater.events.event_json import decode_event
from headwater.events.problems import Problem
from headwater.events.validation import validate_event


@dataclass(frozen=True)
class CheckedEvent:
    """One event of a file: the line it begins at, counted from 1, and its problems, infos included."""

    line: int
    problems: tuple[Problem, ...]

    @property
    def is_valid(self) -> bool:
        """Tell whether no problem is an error."""
        return all(problem.severity != "error" for problem in self.problems)


def validate_file(path: Path) -> Iterator[CheckedEvent]:
    """Check a file's events in order, each as soon as it is read: one per line, pretty-printed, or an array.

    A line that is no event is a CheckedEvent with a problem, and the next line goes on.
    Raises WrongSetting, at first use or midway, if the file cannot be read or holds no event.
    """
    for event in read_event_texts(path):
        yield CheckedEvent(event.line, tuple(_problems(event)))


def _problems(event: EventText) -> list[Problem]:
    if event.text is None:
        return [Problem("event", None, f"is longer than {LONGEST_LINE // 2**20} MiB: not read")]
    try:
        return validate_event(decode_event(event.text))
    except InvalidEvent as error:
        return [Problem("event", None, str(error))]
