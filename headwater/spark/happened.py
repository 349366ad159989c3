"""What the events of one run drop, rename and write, by the names as sent: rows of `bindings`."""

from collections.abc import Iterable, Iterator, Sequence

from headwater.lineage.name import Name
from headwater.lineage.part import Part
from headwater.lineage.run import sent_changes, sent_writes
from headwater.spark.arrow import Row
from headwater.spark.texts import read_parts
from headwater.tables import BINDINGS, Table, without

BINDING, RENAME, DROP, WRITE, PENDING = "binding", "rename", "drop", "write", "pending"
CHANGES = (RENAME, DROP)

HAPPENED = Table("happened", without(BINDINGS, "batch", "rules_hash"))
KEYS = tuple(HAPPENED.columns)


def happened(rows: Sequence[Row]) -> Iterator[Row]:
    """Take the rows of one run, in the columns `derive.GROUP`; yield rows of `HAPPENED`.

    PENDING is what a run may yet drop, rename (`ordinal` 0) or write, once more of its events are known.
    """
    parts = list({part.event_id: part for row in rows for part in read_parts(row[1])}.values())
    run_key = parts[0].run_key
    changes = sent_changes(parts)
    for place, (time_us, old, new) in enumerate(changes):
        yield (DROP if new is None else RENAME, *old.parts, *_to(new), time_us, run_key, place)
    writes = set(sent_writes(parts))
    for time_us, name in sorted(writes):
        yield (WRITE, *name.parts, *_to(None), time_us, run_key, None)
    if not changes and any(changes_names(part) for part in parts):
        yield (PENDING, *_to(None), *_to(None), 0, run_key, 0)
    for name in sorted(outputs_of(parts)) if not writes else ():
        yield (PENDING, *name.parts, *_to(None), 0, run_key, None)


def changes_names(part: Part) -> bool:
    """Tell whether an event says DROP or RENAME."""
    return any(each.lifecycle in ("DROP", "RENAME") for each in part.outputs)


def outputs_of(parts: Iterable[Part]) -> set[Name]:
    """Return the names that runs write, or would."""
    runs = [part for part in parts if part.kind == "RUN"]
    return {name for part in runs for name in (*(each.name for each in part.outputs), *part.saying.leads_to)}


def _to(name: Name | None) -> tuple[str, str]:
    return name.parts if name else ("", "")
