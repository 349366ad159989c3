"""Effects of planned changes: affected columns, jobs, consumers and contracts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from headwater.common.errors import NotKnown, ServerRefusal
from headwater.governance.planning.column_types import is_same, is_wider
from headwater.governance.planning.planned_schema import ChangeKind, PlannedChange, PresentTable
from headwater.governance.planning.present_tables import MAX_ITEMS, Ask, PresentTables, is_unknown
from headwater.governance.planning.promised_columns import PromisedColumns
from headwater.lineage.walks.column_verdicts import NO_READER

Outcome = Literal["breaks", "may break", "safe", "not known"]


class AffectedColumn(NamedTuple):
    """A downstream column; null for an output without column lineage.

    display_name: of the dataset, None if it equals the canonical name.
    """

    namespace: str
    dataset: str
    column: str | None
    display_name: str | None = None


class PlanFinding(NamedTuple):
    """A change with its outcome and everything that it affects. note: the reason if it affects nothing known.

    presumed_retired: the jobs among `jobs` that are presumed retired (docs/lineage.md, rule 6.12); they come last.
    display_name: of the dataset, None if it equals the canonical name.
    """

    outcome: Outcome
    change: ChangeKind
    namespace: str | None
    dataset: str
    column: str | None
    before: str | None
    after: str | None
    columns: list[AffectedColumn]
    jobs: list[str]
    consumers: list[str]
    contracts: list[str]
    note: str | None
    presumed_retired: list[str]
    display_name: str | None


def plan_findings(
    changes: Iterable[PlannedChange],
    tables: PresentTables,
    ask: Ask,
    contracts: Sequence[PromisedColumns],
    dialect: str | None,
) -> Iterator[PlanFinding]:
    """Yield the effect of each change. Changes without an effect, such as another spelling of a type, are omitted."""
    for change in changes:
        if change.kind == "retype_column" and is_same(change.before, change.after, dialect):
            continue
        if change.table is None and change.kind == "not_understood":
            yield _finding(change, "may break")
        elif change.table is None:
            why = change.why or "Headwater does not know this table. It may be new, or have another name in lineage."
            yield _finding(change, "not known", note=why)
        elif change.kind == "retype_column" and is_wider(change.before, change.after, dialect):
            yield _finding(change, "safe", note="The new type can store every value of the old type.")
        else:
            yield _affected_by(change, change.table, tables, ask, contracts)


def _finding(change: PlannedChange, outcome: Outcome, **more: Any) -> PlanFinding:
    table = change.table
    affected: dict[str, Any] = {"columns": [], "jobs": [], "consumers": [], "contracts": [], "note": change.why}
    affected["presumed_retired"] = []
    return PlanFinding(
        outcome=outcome,
        change=change.kind,
        namespace=table.namespace if table else None,
        dataset=table.dataset if table else change.table_name,
        column=change.column,
        before=change.before,
        after=change.after,
        display_name=table.display_name if table else None,
        **{**affected, **more},
    )


def _affected_by(
    change: PlannedChange, table: PresentTable, tables: PresentTables, ask: Ask, contracts: Sequence[PromisedColumns]
) -> PlanFinding:
    reach = _impact(ask, table, change.column)
    if reach is None:
        why = change.why or "Headwater does not know this column. It may be new, or have another name in lineage."
        return _finding(change, "not known", note=why)
    own = [
        each
        for each in tables.verdicts(table.namespace, table.dataset) or ()
        if change.column is None or each["column"].casefold() == change.column.casefold()
    ]
    columns = [_affected(each, each["column"]) for each in reach["columns"]]
    stops = [
        each for each in reach["stops"] if (each["namespace"], each["dataset"]) == (table.namespace, table.dataset)
    ]
    jobs = {_job(each["via"]["job"]) for each in reach["columns"]} | {_job(j) for each in own for j in each["read_by"]}
    consumers = {name for each in own for name in each["consumers"]} | _consumers(tables, columns)
    broken_contracts = [
        each.name
        for each in contracts
        if each.promises(table.namespace, table.dataset, change.column)
        or any(each.promises(to.namespace, to.dataset, to.column) for to in columns)
    ]
    if change.column is None:
        jobs |= {_job(job) for each in stops for job in each["jobs"]}
        jobs |= {_job(job) for job in tables.readers(table.namespace, table.dataset)}
        columns += [_affected(to, None) for each in stops for to in each["onward"]]
    steps = [each["via"] for each in reach["columns"]]
    presumed = {_job(via["job"]) for via in steps if via.get("presumed_retired")}
    presumed = jobs & (presumed | {_job(job) for job in tables.presumed_retired(table.namespace, table.dataset)})
    affected: dict[str, Any] = {
        "columns": columns,
        "jobs": [*sorted(jobs - presumed), *sorted(presumed)],
        "consumers": sorted(consumers),
        "contracts": sorted({*broken_contracts}),
        "presumed_retired": sorted(presumed),
    }
    if any(affected.values()) and change.kind != "not_understood":
        notes = ["The list is truncated."] if reach["truncated"] else []
        notes += [f"Presumed retired: {', '.join(sorted(presumed))}."] if presumed else []
        note = " ".join(notes) or None
        return _finding(change, "breaks", **affected, note=note)
    outcome, note = _unproven(change, own, stops)
    if outcome == "may break":
        affected["jobs"] = sorted({*affected["jobs"], *(_job(job) for each in stops for job in each["jobs"])})
    return _finding(change, outcome, **affected, note=note)


def _unproven(change: PlannedChange, own: Sequence[Any], stops: Sequence[Any]) -> tuple[Outcome, str | None]:
    """Return outcome and note if no affected column, job, consumer or contract is known."""
    if change.kind == "not_understood":
        return "may break", change.why
    if stops:
        return "may break", "A job reads the table and does not report which columns."
    if own and all(each["verdict"] == "unused" for each in own):
        return "safe", "All readers report their columns, and none of them reads this one."
    reasons = sorted({each["reason"] for each in own if each["verdict"] == "unknown"})
    return "may break", f"Safety is not proven: {'; '.join(reasons) or NO_READER}."


def _impact(ask: Ask, table: PresentTable, column: str | None) -> Any:
    asked = {"namespace": table.namespace, "dataset": table.dataset, "mode": "any", "limit": MAX_ITEMS}
    try:
        return ask("impact", asked | ({"column": column} if column is not None else {}))
    except (NotKnown, ServerRefusal) as error:
        if not is_unknown(error):
            raise
        return None


def _consumers(tables: PresentTables, columns: Sequence[AffectedColumn]) -> set[str]:
    """Return the declared consumers of downstream columns."""
    affected = {(each.namespace, each.dataset, (each.column or "").casefold()) for each in columns}
    return {
        name
        for namespace, dataset in dict.fromkeys((each.namespace, each.dataset) for each in columns)
        for verdict in tables.verdicts(namespace, dataset) or ()
        if (namespace, dataset, (verdict["column"] or "").casefold()) in affected
        for name in verdict["consumers"]
    }


def _affected(dataset: Any, column: str | None) -> AffectedColumn:
    return AffectedColumn(dataset["namespace"], dataset["dataset"], column, dataset.get("display_name"))


def _job(job: Any) -> str:
    return f"{job['namespace']}/{job['name']}"
