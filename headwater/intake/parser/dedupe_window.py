"""The dedupe window of one partition: the ids of recently stored events."""

from collections import deque
from collections.abc import Iterable

MAX_IDS = 1_000_000
MAX_AGE_US = 2 * 24 * 3600 * 1_000_000


class DedupeWindow:
    """Up to a million event ids of the last two days, which need about 130 bytes each.

    Drops whole batches, oldest first.
    """

    def __init__(self, ids: Iterable[tuple[int, bytes]] = ()):
        """ids: pairs (time of receipt in us, event id), oldest first."""
        self._ids: set[bytes] = set()
        self._batches: deque[tuple[int, list[bytes]]] = deque()
        for received_us, event_id in ids:
            if not self._batches or len(self._batches[-1][1]) >= 1000:
                self._batches.append((received_us, []))
            self._batches[-1][1].append(event_id)
            self._ids.add(event_id)

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, received_us: int, ids: list[bytes]) -> None:
        """Add the ids of a committed batch, and drop batches that exceed the limits.

        received_us: when the last record of the batch was received (us).
        """
        if ids:
            self._batches.append((received_us, ids))
            self._ids.update(ids)
        while self._batches and (len(self._ids) > MAX_IDS or self._batches[0][0] < received_us - MAX_AGE_US):
            self._ids.difference_update(self._batches.popleft()[1])
