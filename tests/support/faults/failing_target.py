"""A target with faults that nobody foresaw: it dies of some jobs, in converting or in delivering them."""

from collections.abc import Sequence
from typing import Literal

from headwater.sinks.interface.options import Options, SecretResolver
from headwater.sinks.interface.shape import Outcome, Payload, SinkEvent
from headwater.sinks.interface.support import full_support
from headwater.sinks.targets.openlineage import OpenLineageOptions, OpenLineageTarget
from headwater.sinks.targets.openlineage import open_target as open_sound


class FailingOptions(OpenLineageOptions):
    """Those of the target that it is apart from its faults."""

    type: Literal["failing"]  # type: ignore[assignment]


OPTIONS = FailingOptions
support_table = full_support


class FailingTarget:
    """Names of jobs: `unreadable…` dies in converting, `undeliverable…` in delivering; its key is in what it says."""

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
    """The same for whole runs; what the lake had of a run before is converted with it."""

    def convert_runs(self, events: Sequence[SinkEvent], history: dict[str, Sequence[SinkEvent]]) -> list[Payload]:
        return self.convert([*(each for before in history.values() for each in before), *events])[-len(events) :]


def open_target(options: Options, reveal: SecretResolver) -> FailingTarget:
    assert isinstance(options, FailingOptions)
    assert options.key
    kind = FailingRuns if options.path.endswith("/runs") else FailingTarget
    return kind(open_sound(options, reveal), reveal(options.key))
