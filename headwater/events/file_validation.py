"""Validates the events of a file for `headwater validate`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headwater.common.errors import InvalidEvent
from headwater.events.event_files import LONGEST_LINE, EventText, decode_event, read_event_texts
from headwater.events.validation import Problem, validate_event


@dataclass(frozen=True)
class CheckedEvent:
    """One event of a file: the line (from 1) on which it begins, and its problems, including infos."""

    line: int
    problems: tuple[Problem, ...]

    @property
    def is_valid(self) -> bool:
        """Whether the event has no errors."""
        return all(problem.severity != "error" for problem in self.problems)


def validate_file(path: Path) -> Iterator[CheckedEvent]:
    """Validate the events of a file in order, and yield each result before the next event is read.

    The file has one event per line, one pretty-printed event, or an array.

    A line that is not an event results in a CheckedEvent with a problem. Raises WrongSetting, possibly during the
    iteration, if the file cannot be read or contains no events.
    """
    for event in read_event_texts(path):
        yield CheckedEvent(event.line, tuple(_problems_of(event)))


def _problems_of(event: EventText) -> list[Problem]:
    if event.text is None:
        return [Problem("event", None, f"is longer than {LONGEST_LINE // 2**20} MiB and was not checked")]
    try:
        return validate_event(decode_event(event.text))
    except InvalidEvent as error:
        return [Problem("event", None, str(error))]
