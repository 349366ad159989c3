"""What answers report if the lake had lost events to retention before the index was built from it."""

from collections.abc import Iterable, Iterator

from headwater.events.times import iso
from headwater.lineage.time.snapshot import Snapshot
from headwater.lineage.walks.masking_surface import Surfaced


def removed_day(snapshot: Snapshot) -> str | None:
    """Return the day (UTC) before which events were removed, None if none were."""
    time = iso(snapshot.removed_before_us)
    return time and time.partition("T")[0]


def removal(snapshot: Snapshot) -> str:
    """Return a sentence about removed events for errors about unknown names, empty if none were removed."""
    day = removed_day(snapshot)
    return f"Retention removed the events before {day}, so it may have been known." if day else ""


def doubted(columns: Iterable[Surfaced]) -> Iterator[Surfaced]:
    """Yield the columns of a surface as they are if removed events may have written them in the clear.

    Nothing is proven to be masked then: a tagged column counts as readable (rule 8.5), any other one is unknown.
    """
    for each in columns:
        exposure = each.exposure
        if exposure == "masked":
            exposure = "exposed" if each.tagged else "unknown"
        yield each._replace(exposure=exposure)
