"""Find the effects of planned changes: affected columns, jobs, consumers and contracts."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.common.errors import NotKnown, ServerRefusal
from headwater.governance.planning.schema import (
    MAX_ITEMS,
    Ask,
    ChangeKind,
    PlannedChange,
    PresentTable,
    PresentTables,
    is_unknown_name_error,
)
from headwater.governance.planning.yaml_changes import PromisedColumns
from headwater.lineage.traversal.column_verdicts import NO_READER

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
_TEXT = {"TEXT", "VARCHAR", "NVARCHAR", "CHAR", "NCHAR", "STRING"}
_SYNONYMS = {"INTEGER": "INT", "LONG": "BIGINT", "SHORT": "SMALLINT", "BYTE": "TINYINT", "INT64": "BIGINT"}
_DIALECTS = (None, "spark", "tsql", "postgres", "snowflake", "bigquery", "duckdb")
Outcome = Literal["breaks", "may break", "safe", "not known"]


class AffectedColumn(NamedTuple):
    """An affected downstream column; `column` is None for an output without column lineage.

    display_name: the display name of the dataset, or None if it equals the canonical name.
    """

    namespace: str
    dataset: str
    column: str | None
    display_name: str | None = None


class PlanFinding(NamedTuple):
    """A change with its outcome and its known effects. before, after: types, or the new name.

    note: reason for the outcome, or None. presumed_retired: the jobs in `jobs` that are presumed retired
    (docs/reference/lineage.md, rule 6.12); they come last in `jobs`.
    display_name: the display name of the dataset, or None if it equals the canonical name.
    owners: the owners of the affected datasets and of the changed one, sorted.
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
    owners: tuple[str, ...] = ()


def plan_findings(
    changes: Iterable[PlannedChange],
    tables: PresentTables,
    ask: Ask,
    contracts: Sequence[PromisedColumns],
    dialect: str | None,
) -> Iterator[PlanFinding]:
    """Yield one finding for each change, without changes that only spell a type differently.

    contracts: the promised columns of known contracts. dialect: SQL dialect of the new types.
    """
    for change in changes:
        if change.kind == "retype_column" and is_same_type(change.before, change.after, dialect):
            continue
        if change.table is None and change.kind == "not_understood":
            yield _make_finding(change, "may break")
        elif change.table is None:
            why = change.why or "Headwater does not know this table. It may be new, or have another name in lineage."
            yield _make_finding(change, "not known", note=why)
        elif change.kind == "retype_column" and is_wider_type(change.before, change.after, dialect):
            yield _make_finding(change, "safe", note="The new type can store every value of the old type.")
        else:
            yield _finding_for_change(change, change.table, tables, ask, contracts)


def _make_finding(change: PlannedChange, outcome: Outcome, **more: Any) -> PlanFinding:
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


def _finding_for_change(
    change: PlannedChange, table: PresentTable, tables: PresentTables, ask: Ask, contracts: Sequence[PromisedColumns]
) -> PlanFinding:
    reach = _ask_impact(ask, table, change.column)
    if reach is None:
        why = change.why or "Headwater does not know this column. It may be new, or have another name in lineage."
        return _make_finding(change, "not known", note=why)
    own = [
        each
        for each in tables.verdicts(table.namespace, table.dataset) or ()
        if change.column is None or each["column"].casefold() == change.column.casefold()
    ]
    columns = [_affected_column(each, each["column"]) for each in reach["columns"]]
    stops = [
        each for each in reach["stops"] if (each["namespace"], each["dataset"]) == (table.namespace, table.dataset)
    ]
    jobs = {_job_text(each["via"]["job"]) for each in reach["columns"]} | {
        _job_text(j) for each in own for j in each["read_by"]
    }
    consumers = {name for each in own for name in each["consumers"]} | _declared_consumers(tables, columns)
    broken_contracts = [
        each.name
        for each in contracts
        if each.has_promise(table.namespace, table.dataset, change.column)
        or any(each.has_promise(to.namespace, to.dataset, to.column) for to in columns)
    ]
    if change.column is None:
        jobs |= {_job_text(job) for each in stops for job in each["jobs"]}
        jobs |= {_job_text(job) for job in tables.readers(table.namespace, table.dataset)}
        columns += [_affected_column(to, None) for each in stops for to in each["onward"]]
    steps = [each["via"] for each in reach["columns"]]
    presumed = {_job_text(via["job"]) for via in steps if via.get("presumed_retired")}
    presumed = jobs & (
        presumed | {_job_text(job) for job in tables.readers_presumed_retired(table.namespace, table.dataset)}
    )
    affected: dict[str, Any] = {
        "columns": columns,
        "jobs": [*sorted(jobs - presumed), *sorted(presumed)],
        "consumers": sorted(consumers),
        "contracts": sorted({*broken_contracts}),
        "presumed_retired": sorted(presumed),
    }
    owners = tuple(sorted({owner["name"] for each in reach.get("owners", ()) for owner in each["owners"]}))
    if any(affected.values()) and change.kind != "not_understood":
        notes = ["The list is truncated."] if reach["truncated"] else []
        notes += [f"Presumed retired: {', '.join(sorted(presumed))}."] if presumed else []
        note = " ".join(notes) or None
        return _make_finding(change, "breaks", **affected, note=note, owners=owners)
    outcome, note = _outcome_without_impact(change, own, stops)
    if outcome == "may break":
        affected["jobs"] = sorted({*affected["jobs"], *(_job_text(job) for each in stops for job in each["jobs"])})
    return _make_finding(change, outcome, **affected, note=note, owners=owners if outcome == "may break" else ())


def _outcome_without_impact(
    change: PlannedChange, own: Sequence[Any], stops: Sequence[Any]
) -> tuple[Outcome, str | None]:
    """Return outcome and note of a change that affects no known column, job, consumer or contract.

    own: verdicts of the changed columns. stops: outputs without column lineage that the table feeds.
    """
    if change.kind == "not_understood":
        return "may break", change.why
    if stops:
        return "may break", "A job reads the table and does not report which columns."
    if own and all(each["verdict"] == "unused" for each in own):
        return "safe", "All readers report their columns, and none of them reads this one."
    reasons = sorted({each["reason"] for each in own if each["verdict"] == "unknown"})
    return "may break", f"Safety is not proven: {'; '.join(reasons) or NO_READER}."


def _ask_impact(ask: Ask, table: PresentTable, column: str | None) -> Any:
    asked = {"namespace": table.namespace, "dataset": table.dataset, "mode": "any", "limit": MAX_ITEMS}
    try:
        return ask("impact", asked | ({"column": column} if column is not None else {}))
    except (NotKnown, ServerRefusal) as error:
        if not is_unknown_name_error(error):
            raise
        return None


def _declared_consumers(tables: PresentTables, columns: Sequence[AffectedColumn]) -> set[str]:
    """Return the names of the declared consumers of these columns."""
    affected = {(each.namespace, each.dataset, (each.column or "").casefold()) for each in columns}
    return {
        name
        for namespace, dataset in dict.fromkeys((each.namespace, each.dataset) for each in columns)
        for verdict in tables.verdicts(namespace, dataset) or ()
        if (namespace, dataset, (verdict["column"] or "").casefold()) in affected
        for name in verdict["consumers"]
    }


def _affected_column(dataset: Any, column: str | None) -> AffectedColumn:
    return AffectedColumn(dataset["namespace"], dataset["dataset"], column, dataset.get("display_name"))


def _job_text(job: Any) -> str:
    return f"{job['namespace']}/{job['name']}"


def is_same_type(before: str | None, after: str | None, dialect: str | None) -> bool:
    """Return whether two types are equal; if one cannot be parsed, compares the texts. dialect: of the second type."""
    one, other = _parse_type(before, None), _parse_type(after, dialect)
    if one is None or other is None:
        return before is not None and after is not None and _normalise_type(before) == _normalise_type(after)
    return _with_size(one) == _with_size(other) or (
        _is_text(one) and _is_text(other) and not (_size_parameters(one) or _size_parameters(other))
    )


def is_wider_type(before: str | None, after: str | None, dialect: str | None) -> bool:
    """Return whether the second type is larger and can store every value of the first. dialect: of the second type."""
    one, other = _parse_type(before, None), _parse_type(after, dialect)
    if one is None or other is None:
        return False
    for order in (_INTEGERS, _FLOATS):
        if one.this.name in order and other.this.name in order:
            return order.index(one.this.name) < order.index(other.this.name)
    if _is_text(one) and _is_text(other):
        return bool(_size_parameters(one)) and (
            not _size_parameters(other) or _size_parameters(other)[0] >= _size_parameters(one)[0]
        )
    if one.this.name == other.this.name == "DECIMAL" and _size_parameters(one) and _size_parameters(other):
        (digits, scale), (more, other_scale) = _integer_and_fraction_digits(one), _integer_and_fraction_digits(other)
        return other_scale >= scale and more - other_scale >= digits - scale
    return False


@lru_cache(4_096)
def _parse_type(text: str | None, dialect: str | None) -> exp.DataType | None:
    """Parse a type in its dialect, or in the first other dialect that accepts it; None if no dialect accepts it."""
    if text is None:
        return None
    text = _SYNONYMS.get(text.strip().upper(), text)
    for each in dict.fromkeys((dialect, *_DIALECTS)):
        try:
            found = exp.DataType.build(text, dialect=each)
        except (SqlglotError, ValueError):
            continue
        if found.this != exp.DataType.Type.USERDEFINED:
            return found
    return None


def _with_size(kind: exp.DataType) -> str:
    name = "TEXT" if _is_text(kind) else kind.this.name
    return f"{name}{_size_parameters(kind)}" if not kind.args.get("nested") else kind.sql().casefold()


def _is_text(kind: exp.DataType) -> bool:
    return kind.this.name in _TEXT


def _size_parameters(kind: exp.DataType) -> list[int]:
    return [int(each.name) for each in kind.expressions if isinstance(each, exp.DataTypeParam) and each.name.isdigit()]


def _integer_and_fraction_digits(kind: exp.DataType) -> tuple[int, int]:
    size = [*_size_parameters(kind), 0]
    return size[0], size[1]


def _normalise_type(text: str) -> str:
    return "".join(text.casefold().split())
