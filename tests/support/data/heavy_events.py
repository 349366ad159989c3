"""Generate events with many repeated parts. The counts and lengths are random and can be scaled to a body size."""

import json
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

from tests.support.data.made_events import PRODUCER, run_event

SCHEMA = "https://openlineage.io/spec/facets/1-0-0/"
ALPHABETS = (
    "a",
    "é",
    "/",
    ".",
    "-",
    "_a",
    "=a&",
    "a@b.c ",
    "{}",
    "%2F",
    "'\"",
    "\u202e",
    "//a",
    "password=",
    "--",
    "\\",
)
KINDS = ("START", "RUNNING", "COMPLETE", "FAIL")

_DEEPEST = 100
"""Levels of a nested column. The receiver refuses events with more than 512."""


@dataclass(frozen=True)
class Heavy:
    """The counts and lengths of the parts of an event.

    inputs, outputs: datasets. columns: of each schema. unlisted: further columns without column lineage. nested: levels
    of each column. edges: input columns of each output column. transformations: of each edge. of_dataset: input columns
    of the whole output (facet `dataset`). names: names are distinct only if 1. long: bytes of each name. facets:
    further facets of run, job and datasets, with `text` bytes each. tables, statements: in the SQL that the rules read.
    alphabet, kind: indexes into ALPHABETS and KINDS.
    """

    inputs: int = 1
    outputs: int = 1
    columns: int = 0
    unlisted: int = 0
    nested: int = 0
    edges: int = 0
    transformations: int = 0
    of_dataset: int = 0
    symlinks: int = 0
    tags: int = 0
    owners: int = 0
    facets: int = 0
    parents: int = 0
    sql: int = 0
    tables: int = 0
    statements: int = 0
    text: int = 0
    long: int = 0
    alphabet: int = 0
    kind: int = 2

    def body(self, number: int) -> bytes:
        """Return the event's body. Different numbers give different runs and names."""
        run = {"parent": self._facet("ParentRunFacet", run={"runId": _run(number + 1)}, job=_job(number + 1))}
        run |= {f"odd{each}": self._facet("Odd", text=self._text(self.text)) for each in range(self.facets)}
        if self.parents:
            run["jobDependencies"] = self._facet(
                "JobDependenciesRunFacet", upstream=[{"job": _job(each)} for each in range(self.parents)]
            )
        job = {
            "sql": self._facet("SQLJobFacet", query=self._query() + self._text(self.sql)),
            "tags": self._tags(),
            "ownership": self._owners(),
        }
        return json.dumps(
            run_event(
                eventType=KINDS[self.kind % len(KINDS)],
                run={"runId": _run(number), "facets": run},
                job={**_job(number), "facets": job},
                inputs=[self._dataset(f"in{each}", is_output=False) for each in range(self.inputs)],
                outputs=[self._dataset(f"out{each}", is_output=True) for each in range(self.outputs)],
            ),
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()

    def _query(self) -> str:
        """Return SQL statements for the rules. They name the inputs and some tables that are not datasets."""
        sources = ", ".join(f"in{n}{n}" if n % 2 else f"in{n}" for n in range(self.tables)) or "in0"
        return "".join(
            f"INSERT INTO out{n} SELECT 1 FROM {sources};" for n in range(max(self.statements, self.tables > 0))
        )

    def _dataset(self, name: str, *, is_output: bool) -> dict[str, Any]:
        facets: dict[str, Any] = {"tags": self._tags(), "ownership": self._owners()}
        if listed := self.columns + self.unlisted:
            facets["schema"] = self._facet("SchemaDatasetFacet", fields=[self._field(n) for n in range(listed)])
        if self.symlinks:
            links = [{"namespace": "s3://links", "name": f"{name}{n}", "type": "TABLE"} for n in range(self.symlinks)]
            facets["symlinks"] = self._facet("SymlinksDatasetFacet", identifiers=links)
        if is_output and (self.edges or self.of_dataset):
            facets["columnLineage"] = self._facet(
                "ColumnLineageDatasetFacet",
                fields={f"c{n}": {"inputFields": self._inputs(self.edges)} for n in range(max(1, self.columns))},
                dataset=self._inputs(self.of_dataset),
            )
        return {"namespace": "s3://heavy", "name": name + self._text(self.long), "facets": facets}

    def _inputs(self, count: int) -> list[dict[str, Any]]:
        kinds = [{"type": "INDIRECT", "subtype": f"JOIN{n}", "masking": n % 2 > 0} for n in range(self.transformations)]
        names = [f"in{n % max(1, self.inputs)}" for n in range(count)]
        said: dict[str, Any] = {"namespace": "s3://heavy", "transformations": kinds}
        return [{**said, "name": name, "field": f"c{n}"} for n, name in enumerate(names)]

    def _field(self, number: int) -> dict[str, Any]:
        field: dict[str, Any] = {"name": f"c{number}", "type": "string", "description": self._text(self.text)}
        for level in range(min(self.nested, _DEEPEST)):
            field = {"name": f"c{level}", "type": "struct", "fields": [field]}
        return field

    def _tags(self) -> dict[str, Any]:
        return self._facet(
            "TagsFacet", tags=[{"key": f"k{n}", "value": self._text(self.text)} for n in range(self.tags)]
        )

    def _owners(self) -> dict[str, Any]:
        return self._facet("OwnershipFacet", owners=[{"name": f"team{n}", "type": "OWNER"} for n in range(self.owners)])

    def _facet(self, name: str, **members: Any) -> dict[str, Any]:
        return {"_producer": PRODUCER, "_schemaURL": f"{SCHEMA}{name}.json", **members}

    def _text(self, size: int) -> str:
        unit = ALPHABETS[self.alphabet % len(ALPHABETS)]
        return unit * (size // len(unit))

    def changed(self, chance: Random) -> "Heavy":
        """Return a copy in which one to three counts differ."""
        found = self
        for name in chance.sample(COUNTS, chance.randint(1, 3)):
            now = getattr(found, name)
            found = replace(found, **{name: chance.choice([0, 1, now * 4 + 1, now // 4, chance.randint(1, 3000)])})
        return replace(found, alphabet=chance.randrange(len(ALPHABETS)), kind=chance.randrange(len(KINDS)))

    def scaled(self, size: int) -> "Heavy":
        """Return a copy whose counts above 1 are multiplied so that the body has about `size` bytes."""
        low, high, found = 0.0, 4096.0, self
        for _ in range(14):
            factor = (low + high) / 2 if high < 4096 else max(1.0, low * 2)
            tried = replace(self, **{name: self._times(name, factor) for name in COUNTS})
            if tried.weight() > size * 3 or len(tried.body(0)) > size:
                high = factor
            else:
                low, found = factor, tried
        return found

    def weight(self) -> int:
        """Return the approximate size of the body in bytes, without building it."""
        column = 60 + min(self.nested, _DEEPEST) * 50 + self.text
        edges = self.edges * max(1, self.columns) + self.of_dataset
        each = (
            self.long
            + (self.columns + self.unlisted) * column
            + self.symlinks * 50
            + (self.tags * (40 + self.text))
            + self.owners * 35
        )
        lineage = edges * (60 + self.transformations * 55)
        rest = (
            self.sql
            + max(1, self.statements) * (30 + self.tables * 9)
            + self.facets * (100 + self.text)
            + self.parents * 50
            + self.tags * (40 + self.text)
        )
        return (self.inputs + self.outputs) * (150 + each) + self.outputs * lineage + rest

    def _times(self, name: str, factor: float) -> int:
        now: int = getattr(self, name)
        return now if now <= 1 else max(1, int(now * factor))


COUNTS = [each.name for each in fields(Heavy) if each.name not in ("alphabet", "kind")]


def _run(number: int) -> str:
    return f"0195c111-0000-7000-8000-{number:012d}"


def _job(number: int) -> dict[str, str]:
    return {"namespace": "heavy", "name": f"job{number}"}
