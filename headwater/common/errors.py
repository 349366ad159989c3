"""The errors of this package, by what the caller should do: give up or retry."""

from collections.abc import Mapping, Sequence
from typing import Any


class HeadwaterError(Exception):
    """Base of all errors of this package. The message states what happened, why, and what to do."""


class GiveUp(HeadwaterError):
    """Repeating the same call cannot succeed. Report the error, quarantine the event, or change the setting."""


class Retry(HeadwaterError):
    """Something outside this process failed. The same call may succeed later."""


class InvalidEvent(GiveUp):
    """A body is not an OpenLineage event, or the event cannot be stored. Quarantine it; do not retry.

    reason: a short name for metrics, such as `not_json`.
    what: what is wrong. fix: what the sender should do. field: dotted path of the first invalid part, or None if the
    fault concerns the whole body.
    """

    def __init__(self, reason: str, what: str, fix: str, field: str | None = None) -> None:
        super().__init__(f"{what} {fix}")
        self.reason = reason
        self.what = what
        self.fix = fix
        self.field = field


class WrongSetting(GiveUp):
    """A setting, file or folder is not usable. The message names the fix."""


class WrongQuestion(GiveUp):
    """A parameter of a question is invalid. The message names the valid form."""


class NotKnown(GiveUp):
    """A name is unknown. The message suggests similar names."""

    def __init__(self, what: str, asked: str, nearest: Sequence[str], hint: str = "", note: str = "") -> None:
        """hint: what to do if no name is similar; note: a sentence that is always appended to the message."""
        near = f"Nearest: {', '.join(map(repr, nearest))}." if nearest else f"There is no similar name. {hint}".strip()
        super().__init__(f"No {what} {asked[:200]!r}. {near} {note}".rstrip())
        self.nearest = list(nearest)


class NeverWritten(NotKnown):
    """Events name a dataset, but no completed run has read or written it, so it has no lineage."""

    def __init__(self, dataset: str) -> None:
        GiveUp.__init__(
            self,
            f"No dataset {dataset[:200]!r} with lineage: events name it, but no completed run has read or written it. "
            "Ask `health` for its failed runs.",
        )
        self.nearest = []


class NotConfigured(NotKnown):
    """A name is missing in a configuration file. No future event can add it."""


class ServerRefusal(GiveUp):
    """A Headwater server answered with an error. body: the JSON body of the response."""

    def __init__(self, text: str, body: Mapping[str, Any]) -> None:
        super().__init__(text)
        self.body = body


class Behind(Retry):
    """A name is unknown, but waiting events may contain it. Ask again soon.

    seconds: age of the oldest event that answers do not include yet; nearest: similar known names.
    """

    def __init__(self, unknown: str, where: str, seconds: float, nearest: Sequence[str] = ()) -> None:
        """unknown: the message for the case that no events wait.

        where: the place of the oldest waiting event, `log` or `lake`.
        """
        super().__init__(
            f"{unknown} This may change: answers are behind by {seconds:.1f} s, the age of the oldest event that waits "
            f"in the {where}."
        )
        self.seconds = seconds
        self.nearest = list(nearest)


class LogUnavailable(Retry):
    """The event log cannot be written or read now. The events of the failed call were not acknowledged."""


class LogMissing(LogUnavailable):
    """The event log does not exist: it was deleted, or `headwater up` has not created it yet."""


class LogDamaged(LogUnavailable):
    """A file of the log is damaged, so acknowledged records are missing."""


class LakeUnavailable(Retry):
    """The storage of the Delta tables failed. Sending the same batch again is safe."""


class NotBuilt(LakeUnavailable):
    """The index is still being built. Ask again soon."""

    def __init__(self) -> None:
        super().__init__("The index of the lake is still being built. Ask again in a moment.")


class IndexUnreadable(LakeUnavailable):
    """The index file cannot be read. The process that writes it replaces the file, and readers open the new file."""
