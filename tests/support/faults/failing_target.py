"""A sink target with unexpected errors: it raises KeyError for some jobs, while it converts or delivers events."""

from collections.abc import Sequence
from typing import Literal

from headwater.sinks.interface.options import Options, SecretResolver
from headwater.sinks.interface.shape import Outcome, Payload, SinkEvent
from headwater.sinks.interface.support import full_support
from headwater.sinks.targets.openlineage import OpenLineageOptions, OpenLineageTarget
from headwater.sinks.targets.openlineage import open_target as open_sound


class FailingOptions(OpenLineageOptions):
    """Options of the OpenLineage target, under the type name `failing`."""

    type: Literal["failing"]  # type: ignore[assignment]


OPTIONS = FailingOptions
support_table = full_support


class FailingTarget:
    """A target that fails on `unreadable…` jobs when converting and on `undeliverable…` jobs when delivering.

    The error message contains the key of the sink, so tests can check that it is redacted.
    """

    def __init__(self, sound: OpenLineageTarget, key: str) -> None:
        self.largest = sound.largest
        self._sound = sound
        self._key = key

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        self._die(events, "unreadable")
        return self._sound.convert(events)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        self._die([payload.event for payload in payloads], "undeliverable")
        return self._sound.deliver(payloads)

    def check(self) -> str:
        return self._sound.check()

    def close(self) -> None:
        self._sound.close()

    def _die(self, events: Sequence[SinkEvent], of: str) -> None:
        for event in events:
            if str(event.head.job_name).startswith(of):
                raise KeyError(f"{event.head.job_name} {self._key}")


class FailingRuns(FailingTarget):
    """The same target for whole runs. It also converts the earlier events of each run from the lake."""

    def convert_runs(self, events: Sequence[SinkEvent], history: dict[str, Sequence[SinkEvent]]) -> list[Payload]:
        return self.convert([*(each for before in history.values() for each in before), *events])[-len(events) :]


def open_target(options: Options, reveal: SecretResolver) -> FailingTarget:
    assert isinstance(options, FailingOptions)
    assert options.key
    kind = FailingRuns if options.path.endswith("/runs") else FailingTarget
    return kind(open_sound(options, reveal), reveal(options.key))
