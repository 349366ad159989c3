"""Every error this package raises on purpose, by what the caller should do: give up or retry."""

from collections.abc import Mapping, Sequence
from typing import Any


class HeadwaterError(Exception):
    """Base of all our errors. The message says what is wrong, why, and what to do."""


class GiveUp(HeadwaterError):
    """The same call can never succeed: report it, quarantine the event, or change the setting."""


class Retry(HeadwaterError):
    """The outside world did not answer: the same call may succeed later."""


class InvalidEvent(GiveUp):
    """This body is no OpenLineage event, or one that cannot be stored: quarantine it, do not retry.

    reason: a short name for counting, such as `not_json`.
    field: dotted path of the first part that does not fit, or None where the whole body is meant.
    """

    def __init__(self, reason: str, what: str, fix: str, field: str | None = None) -> None:
        super().__init__(f"{what} {fix}")
        self.reason = reason
        self.what = what
        self.fix = fix
        self.field = field


class WrongSetting(GiveUp):
    """A setting, a file or a folder is not usable as it stands; the message names the fix."""


class WrongQuestion(GiveUp):
    """A parameter is not of its form; the message names the form."""


class NotKnown(GiveUp):
    """Nothing of this name is known; the message names the nearest ones."""

    def __init__(self, what: str, asked: str, nearest: Sequence[str], hint: str = "", note: str = "") -> None:
        """hint: what to do where nothing is near; note: a sentence in any case."""
        near = f"Nearest: {', '.join(map(repr, nearest))}." if nearest else f"Nothing like it is known. {hint}".strip()
        super().__init__(f"No {what} {asked[:200]!r}. {near} {note}".rstrip())
        self.nearest = list(nearest)


class NeverWritten(NotKnown):
    """Events name a dataset, but no completed run has read or written it: there is no lineage to answer from."""

    def __init__(self, dataset: str) -> None:
        GiveUp.__init__(
            self,
            f"No dataset {dataset[:200]!r} that a completed run has read or written, although events name it. "
            "Ask `health` of it for the runs that failed.",
        )
        self.nearest = []


class NotConfigured(NotKnown):
    """Nothing of this name is in a file of the user's: no event can bring it."""


class ServerRefusal(GiveUp):
    """A Headwater that was asked has refused, in its own words; said: the body of its refusal."""

    def __init__(self, text: str, said: Mapping[str, Any]) -> None:
        super().__init__(text)
        self.said = said


class Behind(Retry):
    """Nothing of this name is known yet, and events wait that may know it: the same question may be answered soon.

    seconds: the age of the oldest event that questions cannot see yet; nearest: names that are known, and like it.
    """

    def __init__(self, unknown: str, where: str, seconds: float, nearest: Sequence[str] = ()) -> None:
        """unknown: the sentence that would be the answer if nothing waited; where: what holds the oldest event."""
        super().__init__(
            f"{unknown} That may change: questions are behind by {seconds:.1f} s, the age of the oldest event that "
            f"they cannot see yet; it waits in the {where}."
        )
        self.seconds = seconds
        self.nearest = list(nearest)


class LogUnavailable(Retry):
    """The event log cannot take or give events now: nothing was acknowledged."""


class LogMissing(LogUnavailable):
    """There is no log where one was, or where `headwater up` will make one."""


class LogDamaged(LogUnavailable):
    """A file of the log is not as it was written, so that acknowledged records are missing."""


class LakeUnavailable(Retry):
    """The storage of the Delta tables did not answer: sending the same batch again is safe."""


class NotBuilt(LakeUnavailable):
    """There is no index to answer from yet: the same question may be answered soon."""

    def __init__(self) -> None:
        super().__init__("The index of the lake is still being built. Ask again in a moment.")


class IndexUnreadable(LakeUnavailable):
    """The index's file cannot be read; its writer knows, and whoever has it open opens its successor."""
