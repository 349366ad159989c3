"""Redacts and parses bodies from the log."""

from collections.abc import Callable, Sequence

from headwater.common.errors import InvalidEvent
from headwater.events.body_reader import BodyReader
from headwater.events.cpu_budget import RECORD_CPU_S, CpuBudget
from headwater.events.decode import decode, repeats_keys
from headwater.events.event import Event
from headwater.events.facet_digests import canonical_json
from headwater.events.redaction import may_need_redaction, redact_value


class EventReader:
    """Redacts and parses bodies as producers sent them. Create one reader per parser; it is not thread-safe."""

    def __init__(self, record_cpu_s: float = RECORD_CPU_S) -> None:
        """record_cpu_s: seconds of CPU time after which a body is rejected as `too_slow`."""
        self._budget = CpuBudget(record_cpu_s)
        self._reader = BodyReader(self._budget.check)

    def read(self, bodies: Sequence[bytes]) -> list[Event | InvalidEvent]:
        """Parse a batch. The result contains, for each body in order, its event or the error that rejects it."""
        return [
            self._read_or_error(body, dirty) for body, dirty in zip(bodies, may_need_redaction(bodies), strict=True)
        ]

    def _read_or_error(self, body: bytes, dirty: bool) -> Event | InvalidEvent:
        self._budget.begin_record()
        try:
            return self._reader.read_event(redact_body(body, self._budget.check) if dirty else body)
        except InvalidEvent as error:
            return error


def redact_body(body: bytes, check: Callable[[], None] | None = None) -> bytes:
    """Return the body without secrets. A body without secrets is returned unchanged.

    check: called repeatedly during redaction; its exceptions end the redaction. A body with a duplicate key is also
    returned newly encoded: the text still contains the earlier values of this key, which may be secrets.
    """
    value = decode(body)
    clean = redact_value(value, check)
    return body if clean is value and not repeats_keys(body, value) else canonical_json(clean)
