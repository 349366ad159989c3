"""A lake of small pipelines, landing → bronze → silver → gold. Each breaks its contract in a different way."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tests.reference.small_events import changed, renamed, run
from tests.reference.world_events import Json, at, column_lineage, dataset, dataset_event, facet, source, uuid

LAKE = "s3://contracts"
DAY = 86_400
AGREED_S = 40 * DAY
"""When the contracts are made. The events that break them come later."""

BROKE_S = AGREED_S + 3_600

PII = facet(tags=[{"key": "pii", "value": "true", "field": "email"}])
IDENTITY = {"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}
SUM = {"type": "DIRECT", "subtype": "AGGREGATION", "description": "sum(amount)", "masking": False}
SHA = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "sha2(email)", "masking": True}
JOINED = {"type": "INDIRECT", "subtype": "JOIN", "description": "", "masking": False}

Fields = dict[str, list[Json]]


class Pipeline:
    """The tables of one pipeline. Its run numbers are its own, so tests can name the run that breaks a promise."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name, self._runs = number, name, 0
        self.landing, self.bronze, self.silver, self.gold = (
            (LAKE, f"{name}/{layer}") for layer in ("landing", "bronze", "silver", "gold")
        )
        self.breaker = uuid(1_000 * number + 999)

    def agreed(self) -> Iterator[Json]:
        yield self.to_bronze(0)
        yield self.to_silver(10)
        yield self.to_gold(20)

    def to_bronze(self, second: float, reads: Json | None = None, **more: Any) -> Json:
        reads = reads or dataset(self.landing, schema=typed("id email amount tax"), tags=PII)
        fields = {name: [source(self.landing, name, IDENTITY)] for name in ("id", "email", "amount", "tax")}
        return self.run(second, made(self.bronze, fields, typed("id email amount tax")), reads=[reads], **more)

    def to_silver(self, second: float, how: Json = SHA, also: Fields | None = None, **more: Any) -> Json:
        fields = {name: [source(self.bronze, name, IDENTITY)] for name in ("id", "amount", "tax")}
        fields["email"] = [source(self.bronze, "email", how)]
        return self.run(second, made(self.silver, fields | (also or {}), typed("id email amount tax")), **more)

    def to_gold(
        self, second: float, *, fields: Fields | None = None, without: str = "", rows: int = 1_000, bigint: str = "",
        owners: Sequence[str] = ("team-sales",), tag: str = "contact", told: bool = True, **more: Any,
    ) -> Json:  # fmt: skip
        names = [name for name in dict.fromkeys(("id", "email", "total", *(fields or {}))) if name != without]
        every: Fields = {
            "id": [source(self.silver, "id", IDENTITY)], "email": [source(self.silver, "email", IDENTITY)],
            "total": [source(self.silver, "amount", SUM), source(self.silver, "tax", SUM)],
        } | (fields or {})  # fmt: skip
        facets = {
            "ownership": facet(owners=[{"name": name, "type": "TEAM"} for name in owners]),
            "documentation": facet(description="What customers pay."),
            "lifecycleStateChange": facet(lifecycleStateChange="OVERWRITE"),
            "tags": facet(tags=[{"key": tag, "value": "true", "field": "email"}] if tag else []),
        }
        output = made(self.gold, {name: every[name] for name in names}, typed(" ".join(names), bigint), **facets)
        if not told:
            del output["facets"]["columnLineage"]
        output["outputFacets"] = {"outputStatistics": facet(rowCount=rows, size=rows)}
        return self.run(second, output, reads=[dataset(self.silver)], **more)

    def run(self, second: float, *outputs: Json, reads: list[Json] | None = None, **more: Any) -> Json:
        self._runs += 1
        event = run(
            1_000 * self.number + self._runs, second, *outputs, reads=reads, **{"job": self.job(outputs)} | more
        )
        return event | {"run": event["run"] | {"runId": self.breaker}} if second == BROKE_S else event

    def job(self, outputs: Sequence[Json]) -> str:
        return f"to_{outputs[0]['name'].replace('/', '_')}" if outputs else "other"


def typed(names: str, bigint: str = "") -> Json:
    kinds = {"id": "int", "amount": "decimal(10,2)", "tax": "decimal(10,2)", "total": "double"}
    told = {name: "bigint" if name == bigint else kinds.get(name, "string") for name in names.split()}
    return facet(fields=[{"name": name, "type": kind, "description": f"The {name}."} for name, kind in told.items()])


def made(named: tuple[str, str], fields: Fields, schema: Json, **facets: Any) -> Json:
    return dataset(named, columnLineage=column_lineage(fields), schema=schema, **facets)


class Breach(NamedTuple):
    """The only change that breaks a promise of a pipeline's gold table, caused by a run or by another event."""

    kind: str
    column: str | None
    events: Callable[[Pipeline], Sequence[Json]]
    by_run: bool = True


def _tagged_later(pipeline: Pipeline) -> Sequence[Json]:
    tags = facet(tags=[{"key": "salary", "value": "true", "field": "amount"}])
    return [pipeline.to_bronze(BROKE_S, dataset(pipeline.landing, schema=typed("id email amount tax"), tags=tags))]


def _other(pipeline: Pipeline) -> tuple[str, str]:
    return (LAKE, f"{pipeline.name}/other")


BREACHES = {
    "dropped": Breach("dataset.missing", None, lambda p: [p.run(BROKE_S, changed(p.gold, "DROP"))]),
    "renamed": Breach("dataset.renamed", None, lambda p: [p.run(BROKE_S, renamed(p.gold, (LAKE, "renamed/new")))]),
    "column": Breach("column.removed", "total", lambda p: [p.to_gold(BROKE_S, without="total")]),
    "type": Breach("column.retyped", "id", lambda p: [p.to_gold(BROKE_S, bigint="id")]),
    "less": Breach(
        "source.removed", "total", lambda p: [p.to_gold(BROKE_S, fields={"total": [source(p.silver, "tax", SUM)]})]
    ),
    "more": Breach("source.added", "id", lambda p: [
        p.to_gold(BROKE_S, fields={"id": [source(p.silver, "id", IDENTITY), source(_other(p), "id", IDENTITY)]})
    ]),
    "step": Breach("step.changed", "id", lambda p: [
        p.to_gold(BROKE_S, fields={"id": [source(p.silver, "id", {**IDENTITY, "subtype": "TRANSFORMATION"})]})
    ]),
    "mask": Breach("mask.removed", "email", lambda p: [p.to_silver(BROKE_S, IDENTITY)]),
    "opaque": Breach("lineage.lost", None, lambda p: [p.to_gold(BROKE_S, told=False)]),
    "exposed": Breach("column.exposed", "total", _tagged_later),
    "owner": Breach("owner.removed", None, lambda p: [p.to_gold(BROKE_S, owners=["team-ops"])]),
    "writer": Breach("job.added", None, lambda p: [p.to_gold(BROKE_S, job="somebody_else")]),
    "rows": Breach("volume.low", None, lambda p: [p.to_gold(BROKE_S, rows=10)]),
    "emptied": Breach("volume.low", None, lambda p: [p.to_gold(BROKE_S, rows=0)]),
    "tag": Breach("tag.removed", "email", lambda p: [p.to_gold(BROKE_S, tag="")]),
    "origin": Breach("origin.added", "id", lambda p: [
        p.to_bronze_of_two(BROKE_S) if isinstance(p, TwoSources) else p.to_bronze(BROKE_S)
    ]),
}  # fmt: skip
"""Name of a pipeline → how its contract is broken."""


class TwoSources(Pipeline):
    """A pipeline whose bronze table gets a second source table later."""

    def to_bronze_of_two(self, second: float) -> Json:
        fields: Fields = {name: [source(self.landing, name, IDENTITY)] for name in ("id", "email", "amount", "tax")}
        fields["id"].append(source(_other(self), "id", IDENTITY))
        return self.run(second, made(self.bronze, fields, typed("id email amount tax")))


PIPELINES = {
    name: (TwoSources if name == "origin" else Pipeline)(number, name) for number, name in enumerate(BREACHES, 1)
}
RHYTHM = Pipeline(90, "rhythm")
"""A pipeline that writes daily until the contracts are made, and never afterwards."""

STEADY = Pipeline(91, "steady")
"""A pipeline that continues with only compatible changes, such as a new column."""


def agreed() -> Iterator[Json]:
    """Yield the events from before the contracts are made."""
    for pipeline in (*PIPELINES.values(), STEADY):
        yield from pipeline.agreed()
    yield RHYTHM.to_bronze(0)
    yield RHYTHM.to_silver(10)
    yield from (RHYTHM.to_gold(day * DAY) for day in range(30, 40))


def broken() -> Iterator[Json]:
    """Yield the events that break the contracts."""
    for name, breach in BREACHES.items():
        yield from breach.events(PIPELINES[name])
    more = {"extra": [source(STEADY.silver, "tax", IDENTITY)]}
    yield STEADY.to_gold(BROKE_S, rows=5_000)
    yield STEADY.to_gold(BROKE_S + 10, fields=more, rows=5_000)
    yield STEADY.run(BROKE_S + 30, reads=[dataset(STEADY.gold, schema=typed("id ghost"))])
    yield STEADY.to_bronze(BROKE_S + 40, dataset(STEADY.landing, schema=typed("id email amount"), tags=PII))
    yield dataset_event(at(BROKE_S + 20), dataset(STEADY.gold, documentation=facet(description="What customers pay.")))


def untagged() -> Json:
    return dataset_event(at(0), dataset((LAKE, "unrelated")))
