"""Columns inferred from SQL against those that were observed: how many are right, how many are found, at what cost.

`python -m bench.inference`: the recorded statements of `bench/statements.py`, each half by itself, dialect by dialect.
An edge is (source dataset, source column, output column, DIRECT or not). Precision: of what is inferred; recall: of
what was observed, statements that are not read counted as nothing found. Of the half set aside only numbers are shown.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bench.dialect_truth import Edge
from bench.figures import Figure, percentile, show
from bench.statements import Statement, statements
from headwater.lineage.edges.facet_contents import ContentsInMemory
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.inferring.sql_dialects import dialect_of
from headwater.lineage.inferring.sql_text import PARSER
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.time.snapshot_of_facts import SnapshotOfFacts
from tests.samples import body

PRECISION, RECALL = 0.97, 0.85


class Measured(NamedTuple):
    """One statement: its edges as inferred and as observed, the CPU that reading it took (s), why it was not read."""

    dialect: str
    inferred: frozenset[Edge]
    observed: frozenset[Edge]
    cpu_s: float
    unread: str | None
    key: str


def run() -> list[Figure]:
    """Measure both halves."""
    every = statements()
    tuned = [measure(each) for each in every if not each.held_out]
    held_out = [measure(each) for each in every if each.held_out]
    costs = sorted(each.cpu_s for each in (*tuned, *held_out))
    return [
        *_rates("tuned on", tuned),
        *_rates("set aside", held_out),
        Figure(f"CPU of a statement by {PARSER}, p50", percentile(costs, 0.5) * 1000, "ms"),
        Figure("CPU of a statement, p99", percentile(costs, 0.99) * 1000, "ms"),
        Figure("CPU of a statement, most", costs[-1] * 1000, "ms", 1000.0),
    ]


def measure(statement: Statement) -> Measured:
    """Hide the observed column lineage of a statement, and infer it."""
    event = statement.event
    sql = event["job"]["facets"]["sql"]
    observed = _edges(event)[0]
    before = time.process_time()
    inferred, unread = _edges(without_lineage(event))
    cpu_s = time.process_time() - before
    namespaces = [each["namespace"] for each in (*event["outputs"], *event.get("inputs", []))]
    dialect = dialect_of(sql.get("dialect"), namespaces, event.get("producer") or "")
    return Measured(dialect or "any", inferred, observed, cpu_s, unread, statement.key)


def without_lineage(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event that says nothing of columns but its SQL; a run that listed no input lists what it named."""
    hidden: dict[str, Any] = json.loads(json.dumps(event))
    listed = {(each["namespace"], each["name"]) for each in hidden.get("inputs") or []}
    for output in hidden["outputs"]:
        output["facets"].pop("columnLineage", None)
    hidden["inputs"] = [*(hidden.get("inputs") or []), *(
        {"namespace": namespace, "name": name} for namespace, name in sorted(_named(event) - listed)
    )]  # fmt: skip
    return hidden


def _named(event: dict[str, Any]) -> set[tuple[str, str]]:
    facets = [(each.get("facets") or {}).get("columnLineage") or {} for each in event["outputs"]]
    fields = [
        source for facet in facets for field in (facet.get("fields") or {}).values() for source in field["inputFields"]
    ]
    every = [*fields, *(source for facet in facets for source in facet.get("dataset") or [])]
    return {(each["namespace"], each["name"]) for each in every}


def _edges(event: dict[str, Any]) -> tuple[frozenset[Edge], str | None]:
    """Return the edges that the rules make of one event, as if its run had no other."""
    contents = ContentsInMemory()
    reader = FactsReader(default_rules().canonical, contents)
    told = {"run": {"runId": "01a1fdb4-606f-7ed7-8ccf-b1cbfed17566"}} | {"eventTime": "2026-03-01T00:00:00Z"}
    job = {**event["job"], "name": "statement"}  # a statement's other half, which Spark observes, needs no inference
    whole = {**event, **told, "job": job, "eventType": "COMPLETE", "producer": event.get("producer") or "unknown"}
    fact = reader.read("0" * 32, 0, body(whole).decode())
    snapshot = SnapshotOfFacts([fact], contents)
    found = [lineage for _, lineage in snapshot.graph.sets.values()]
    unread = next((lineage.unread for lineage in found if lineage.unread), None)
    return frozenset(edge for lineage in found for edge in _of_output(lineage)), unread


def _of_output(lineage: OutputLineage) -> Iterable[Edge]:
    output = lineage.output.name if lineage.output else ""
    for edge in lineage.edges:
        target = "*" if edge.target is None else f"{output}.{edge.target}"
        step = edge.transformation
        yield (
            edge.source.name,
            edge.column,
            target,
            "masked" if step.masked else "direct" if step.direct else "indirect",
        )


def _rates(half: str, measured: Sequence[Measured]) -> list[Figure]:
    by_dialect: dict[str, list[Measured]] = defaultdict(list)
    for each in measured:
        by_dialect[each.dialect].append(each)
    found = []
    for dialect, own in sorted(by_dialect.items()):
        both = sum(len(each.inferred & each.observed) for each in own)
        inferred, observed = (
            sum(map(len, edges)) for edges in zip(*((e.inferred, e.observed) for e in own), strict=True)
        )
        unread = sum(each.unread is not None for each in own)
        name = f"{dialect}, {half}, {len(own)} statements, {unread} not read"
        found.append(Figure(f"precision, {name}", both / inferred if inferred else 1.0, "", PRECISION, ">="))
        found.append(Figure(f"recall, {name}", both / observed if observed else 1.0, "", RECALL, ">="))
    return found


def main() -> None:
    """Print the figures; with --wrong what is missing or too much of the half that is tuned on."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--wrong", action="store_true", help="show what is wrong in the half that is tuned on")
    if arguments.parse_args().wrong:
        for each in (measure(statement) for statement in statements() if not statement.held_out):
            print(each.key, each.dialect, each.unread or "")
            print("  missing", sorted(each.observed - each.inferred))
            print("  too much", sorted(each.inferred - each.observed))
    show("Inference", run())


if __name__ == "__main__":
    main()
