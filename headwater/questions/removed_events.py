"""Effects on answers if retention removed events before the index was built."""

from collections.abc import Iterable, Iterator

from headwater.events.times import iso
from headwater.lineage.time.snapshot import Snapshot
from headwater.lineage.walks.masking_surface import Surfaced


def removed_day(snapshot: Snapshot) -> str | None:
    """Return the day (UTC) before which events were removed, None if none were removed."""
    time = iso(snapshot.removed_before_us)
    return time and time.partition("T")[0]


def removal_note(snapshot: Snapshot) -> str:
    """Return a sentence about removed events for errors about unknown names, empty if none were removed."""
    day = removed_day(snapshot)
    return f"Retention removed all events before {day}, which may have named it." if day else ""


def unproven(columns: Iterable[Surfaced]) -> Iterator[Surfaced]:
    """Yield surface columns with the exposure that holds if removed events may have written them unmasked.

    No column is proven to be masked then: a tagged column counts as exposed (rule 8.5), any other masked column as
    unknown.
    """
    for each in columns:
        exposure = each.exposure
        if exposure == "masked":
            exposure = "exposed" if each.tagged else "unknown"
        yield each._replace(exposure=exposure)
