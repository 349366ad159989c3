"""Read the INSERTs of `world_sql.py` with patterns (docs/reference/lineage.md: columns that follow from SQL)."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from tests.reference.generations import Dataset

_INSERT = re.compile(r"INSERT INTO (?P<target>\S+)(?: \((?P<listed>.*?)\))? SELECT (?P<values>.*?) FROM (?P<tables>.*)")
_MODEL = re.compile(
    r"with (?P<cte>\w+) as \(select \* from (?P<of>\S+)\) select (?P<values>.*) "
    r"from (?P=cte) (?P<one>\w+) join (?P<other>\S+) (?P<two>\w+) on (?P<on>.*)"
)
_COLUMN = re.compile(r"(md5\()?s(\d+)\.`([^`]*)`")
_PLAIN = re.compile(r"s\d+\.`[^`]*`")


Names = Mapping[Dataset, set[str]]
"""The names that a run uses for each of its datasets."""


@dataclass
class Statement:
    """The lineage of one dataset according to a statement. The flag in `columns` means masked."""

    target: Dataset
    named: list[str]
    columns: list[tuple[Dataset, str, str, bool]] = field(default_factory=list)
    whole: list[tuple[Dataset, str]] = field(default_factory=list)
    behind_view: set[Dataset] = field(default_factory=set)
    copied: set[tuple[Dataset, str, str]] = field(default_factory=set)
    """Those of `columns` that the statement copies unchanged."""
    is_insert: bool = False
    """The table fills what it does not write, by no means from what is read."""

    @property
    def says_something(self) -> bool:
        """Return whether the statement uses other columns, instead of only literal rows or unchanged columns."""
        elsewhere = any(source != self.target for source, _ in self.whole)
        return elsewhere or any(
            source != self.target or column.casefold() != output.casefold()
            for source, column, output, _ in self.columns
        )


def read_statement(
    query: str,
    inputs: Names,
    outputs: Names,
    columns: Mapping[Dataset, Sequence[str]],
    *,
    joined: Set[Dataset] = frozenset(),
    are_partial: bool = False,
) -> Statement | None:
    """Return the lineage of a statement, even if it is empty, or None if the statement cannot be read.

    columns: listed by the run itself, else by other runs. joined: datasets without a single list of all columns.
    are_partial: the lists may lack columns. In both cases, column positions are unknown.
    """
    found = _INSERT.fullmatch(query)
    if not found:
        return _read_model(query, inputs, outputs)
    tables, _, where = found["tables"].partition(" WHERE ")
    names = [each.partition(" AS ")[0] for each in tables.split(", ")]
    target = _meant(found["target"], outputs)
    if target is None and len(outputs) == 1 and _read(found["target"], inputs, outputs) is None:
        target = next(iter(outputs))
    others = [name for name in names if name.casefold() != found["target"].casefold()]
    if target is None or _is_twofold(found["target"], inputs, outputs, others):
        return None
    sources = [_read(name, inputs, outputs) if name in others else target for name in names]
    mentioned = (found["target"].casefold(), *(name.casefold() for name in names))
    known = {target, *(each for role in (inputs, outputs) for name in mentioned for each in _called(name, role))}
    view = _view(columns, [each for each in inputs if each not in known])
    if None in sources and not view:
        return None
    given = found["values"].split(", ")
    listed = [each.strip("`") for each in found["listed"].split(", ")] if found["listed"] else _top(columns[target])
    if len(listed) < len(given) or ((are_partial or target in joined) and not found["listed"]):
        return None
    listed = listed[: len(given)]
    statement = Statement(target, listed, is_insert=True)

    def origins(place: str, column: str) -> list[tuple[Dataset, str]]:
        if (source := sources[int(place)]) is not None:
            return [(source, each) for each in _as_listed(column, columns.get(source, ()))]
        owners = view.get(column.casefold(), [])
        statement.behind_view |= {owner for owner, _ in owners}
        return owners if len(owners) == 1 else []

    values = list(zip(listed, given, strict=True))
    said = [
        (origins(place, column), output, bool(m)) for output, value in values for m, place, column in _columns(value)
    ]
    plain = [(output, *_COLUMN.findall(value)[0][1:]) for output, value in values if _PLAIN.fullmatch(value)]
    copied = [(origins(place, column), output) for output, place, column in plain if sources[int(place)] is not None]
    whole = [origins(place, column) for _, place, column in _columns(where)]
    if not all(whole) or not all(found for found, _, _ in said):
        return None
    statement.columns = [(*source, output, masked) for found, output, masked in said for source in found]
    statement.whole = [source for found in whole for source in found]
    statement.copied = {(*source, output) for found, output in copied for source in found}
    return statement


def _read_model(query: str, inputs: Names, outputs: Names) -> Statement | None:
    """Return the lineage of a dbt model query for the run's only output: a CTE over one table, joined with another."""
    found = _MODEL.fullmatch(query)
    if not found or len(outputs) != 1:
        return None
    sources = {found["one"]: _meant(_last(found["of"]), inputs), found["two"]: _meant(_last(found["other"]), inputs)}
    read = re.findall(r"(\w+)\.(\w+)", found["values"])
    met = re.findall(r"(\w+)\.(\w+)", found["on"])
    named = [(sources.get(alias), column) for alias, column in (*read, *met)]
    if any(source is None for source, _ in named):
        return None
    told = [(source, column) for source, column in named if source]
    statement = Statement(next(iter(outputs)), [column for _, column in read])
    statement.columns = [(source, column, column, False) for source, column in told[: len(read)]]
    statement.whole = told[len(read) :]
    statement.copied = {(source, column, column) for source, column in told[: len(read)]}
    return statement


def _as_listed(column: str, listed: Sequence[str]) -> list[str]:
    """Return the columns to which a name may refer, in the run's spelling. SQL ignores case unless one
    matches exactly.
    """
    same = [each for each in listed if each.casefold() == column.casefold()]
    return [column] if column in same or not same else same


def _top(columns: Sequence[str]) -> list[str]:
    """Return the columns that are not nested in another column."""
    every = {column.casefold() for column in columns}
    return [column for column in columns if column.rpartition(".")[0].casefold() not in every]


def _columns(text: str) -> list[tuple[str, str, str]]:
    return _COLUMN.findall(text)


def _view(columns: Mapping[Dataset, Sequence[str]], hidden: Sequence[Dataset]) -> dict[str, list[tuple[Dataset, str]]]:
    """Return, by key, the columns of the datasets behind a name that may be a view."""
    found: dict[str, list[tuple[Dataset, str]]] = {}
    for dataset in hidden:
        for column in columns.get(dataset, ()):
            found.setdefault(column.casefold(), []).append((dataset, column))
    return found


def _called(name: str, datasets: Names) -> list[Dataset]:
    return [dataset for dataset, names in datasets.items() if name in {_last(each) for each in names}]


def _last(name: str) -> str:
    return re.split(r"[./]", name)[-1].casefold()


def _meant(name: str, datasets: Names) -> Dataset | None:
    found = _called(name.casefold(), datasets)
    return found[0] if len(found) == 1 else None


def _read(name: str, inputs: Names, outputs: Names) -> Dataset | None:
    return _meant(name, inputs) or _meant(name, {**inputs, **outputs})


def _is_twofold(target: str, inputs: Names, outputs: Names, names: list[str]) -> bool:
    """Return whether a name may refer to several datasets of the run."""
    if len(_called(target.casefold(), outputs)) > 1:
        return True
    every = [*names, *([target] if not _called(target.casefold(), outputs) else [])]
    both = {dataset: inputs.get(dataset, set()) | outputs.get(dataset, set()) for dataset in {*inputs, *outputs}}
    return any(len(_called(name.casefold(), inputs) or _called(name.casefold(), both)) > 1 for name in every)
