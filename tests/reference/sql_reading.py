"""What the INSERTs of `world_sql.py` say, read by patterns (docs/lineage.md: columns that follow from SQL)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.reference.generations import Dataset

_INSERT = re.compile(r"INSERT INTO (?P<target>\S+) \((?P<listed>.*?)\) SELECT (?P<values>.*?) FROM (?P<tables>.*)")
_COLUMN = re.compile(r"(md5\()?s(\d+)\.`([^`]*)`")


@dataclass
class Statement:
    """What a statement makes of one dataset; the flag says masked."""

    target: Dataset
    named: list[str]
    columns: list[tuple[Dataset, str, str, bool]] = field(default_factory=list)
    whole: list[tuple[Dataset, str]] = field(default_factory=list)

    @property
    def says_something(self) -> bool:
        """Tell it from rows that are written down, and from what only stays as it is."""
        elsewhere = any(source != self.target for source, _ in self.whole)
        return elsewhere or any(
            source != self.target or column.casefold() != output.casefold()
            for source, column, output, _ in self.columns
        )


def read_statement(
    query: str, inputs: Mapping[Dataset, set[str]], outputs: Mapping[Dataset, set[str]]
) -> Statement | None:
    """Return what a statement says; inputs, outputs: the datasets of its run, with the names by which it knows them."""
    found = _INSERT.fullmatch(query)
    if not found:
        return None
    tables, _, where = found["tables"].partition(" WHERE ")
    names = [each.partition(" AS ")[0] for each in tables.split(", ")]
    target, sources = _meant(found["target"], outputs), [_read(name, inputs, outputs) for name in names]
    if target is None and len(outputs) == 1 and _read(found["target"], inputs, outputs) is None:
        target = next(iter(outputs))
    if target is None or None in sources or _is_twofold(found["target"], inputs, outputs, names):
        return None
    listed = [each.strip("`") for each in found["listed"].split(", ")]
    statement = Statement(target, listed)
    for output, value in zip(listed, found["values"].split(", "), strict=True):
        for masks, place, column in _COLUMN.findall(value):
            statement.columns.append((sources[int(place)], column, output, bool(masks)))  # type: ignore[arg-type]
    statement.whole = [(sources[int(place)], column) for _, place, column in _COLUMN.findall(where)]  # type: ignore[misc]
    return statement if statement.says_something else None


def _called(name: str, datasets: Mapping[Dataset, set[str]]) -> list[Dataset]:
    return [dataset for dataset, names in datasets.items() if name in {_last(each) for each in names}]


def _last(name: str) -> str:
    return re.split(r"[./]", name)[-1].casefold()


def _meant(name: str, datasets: Mapping[Dataset, set[str]]) -> Dataset | None:
    found = _called(name.casefold(), datasets)
    return found[0] if len(found) == 1 else None


def _read(name: str, inputs: Mapping[Dataset, set[str]], outputs: Mapping[Dataset, set[str]]) -> Dataset | None:
    return _meant(name, inputs) or _meant(name, {**inputs, **outputs})


def _is_twofold(
    target: str, inputs: Mapping[Dataset, set[str]], outputs: Mapping[Dataset, set[str]], names: list[str]
) -> bool:
    """Tell whether a name may be several datasets of the run."""
    if len(_called(target.casefold(), outputs)) > 1:
        return True
    every = [*names, *([target] if not _called(target.casefold(), outputs) else [])]
    both = {dataset: inputs.get(dataset, set()) | outputs.get(dataset, set()) for dataset in {*inputs, *outputs}}
    return any(len(_called(name.casefold(), inputs) or _called(name.casefold(), both)) > 1 for name in every)
