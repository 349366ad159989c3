"""The drops, renames and writes of one run, by names as sent, as rows of `bindings`."""

from collections.abc import Iterable, Iterator, Sequence

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import changes_as_sent, writes_as_sent
from headwater.lineage.runs.run_facts import RunFacts
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.silver.texts import read_facts
from headwater.tables import BINDINGS, Table, columns_without

BINDING, RENAME, DROP, WRITE, PENDING = "binding", "rename", "drop", "write", "pending"
CHANGES = (RENAME, DROP)

NAME_CHANGES = Table("name_changes", columns_without(BINDINGS, "batch", "rules_hash"))
KEYS = tuple(NAME_CHANGES.columns)


def name_changes(rows: Sequence[Row]) -> Iterator[Row]:
    """Convert the rows of one run, in the columns `spark_derivation.RUN_COLUMNS`, to rows of `NAME_CHANGES`.

    A PENDING row states that later events of the run may turn it into a drop or rename (`ordinal` 0), or into a write
    of the named dataset (`ordinal` null).
    """
    facts = list({fact.event_id: fact for row in rows for fact in read_facts(row[1])}.values())
    run_key = facts[0].run_key
    changes = changes_as_sent(facts)
    for place, (time_us, old, new) in enumerate(changes):
        yield (DROP if new is None else RENAME, *old.parts, *_name_cells(new), time_us, run_key, place)
    writes = set(writes_as_sent(facts))
    for time_us, name in sorted(writes):
        yield (WRITE, *name.parts, *_name_cells(None), time_us, run_key, None)
    if not changes and any(reports_change(fact) for fact in facts):
        yield (PENDING, *_name_cells(None), *_name_cells(None), 0, run_key, 0)
    for name in sorted(output_names(facts)) if not writes else ():
        yield (PENDING, *name.parts, *_name_cells(None), 0, run_key, None)


def reports_change(fact: RunFacts) -> bool:
    """Return whether an event reports DROP or RENAME."""
    return any(each.lifecycle in ("DROP", "RENAME") for each in fact.outputs)


def output_names(facts: Iterable[RunFacts]) -> set[Name]:
    """Return the names of the outputs of runs, and of the targets in their `lineage` facets."""
    runs = [fact for fact in facts if fact.kind == "RUN"]
    return {name for fact in runs for name in (*(each.name for each in fact.outputs), *fact.content.declared_targets)}


def _name_cells(name: Name | None) -> tuple[str, str]:
    return name.parts if name else ("", "")
