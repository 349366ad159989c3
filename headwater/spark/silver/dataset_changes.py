"""What the events of one run drop, rename and write, by the names as sent: rows of `bindings`."""

from collections.abc import Iterable, Iterator, Sequence

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import sent_changes, sent_writes
from headwater.lineage.runs.run_facts import RunFacts
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.silver.texts import read_facts
from headwater.tables import BINDINGS, Table, without

BINDING, RENAME, DROP, WRITE, PENDING = "binding", "rename", "drop", "write", "pending"
CHANGES = (RENAME, DROP)

HAPPENED = Table("happened", without(BINDINGS, "batch", "rules_hash"))
KEYS = tuple(HAPPENED.columns)


def happened(rows: Sequence[Row]) -> Iterator[Row]:
    """Take the rows of one run, in the columns `spark_derivation.GROUP`; yield rows of `HAPPENED`.

    PENDING is what a run may yet drop, rename (`ordinal` 0) or write, once more of its events are known.
    """
    facts = list({fact.event_id: fact for row in rows for fact in read_facts(row[1])}.values())
    run_key = facts[0].run_key
    changes = sent_changes(facts)
    for place, (time_us, old, new) in enumerate(changes):
        yield (DROP if new is None else RENAME, *old.parts, *_to(new), time_us, run_key, place)
    writes = set(sent_writes(facts))
    for time_us, name in sorted(writes):
        yield (WRITE, *name.parts, *_to(None), time_us, run_key, None)
    if not changes and any(changes_names(fact) for fact in facts):
        yield (PENDING, *_to(None), *_to(None), 0, run_key, 0)
    for name in sorted(outputs_of(facts)) if not writes else ():
        yield (PENDING, *name.parts, *_to(None), 0, run_key, None)


def changes_names(fact: RunFacts) -> bool:
    """Return whether an event reports DROP or RENAME."""
    return any(each.lifecycle in ("DROP", "RENAME") for each in fact.outputs)


def outputs_of(facts: Iterable[RunFacts]) -> set[Name]:
    """Return the names that runs write, or would."""
    runs = [fact for fact in facts if fact.kind == "RUN"]
    return {name for fact in runs for name in (*(each.name for each in fact.outputs), *fact.content.leads_to)}


def _to(name: Name | None) -> tuple[str, str]:
    return name.parts if name else ("", "")
