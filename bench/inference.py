"""Compare columns inferred from SQL with observed columns: precision, recall and CPU cost.

`python -m bench.inference` measures, by dialect:

- the recorded statements of `bench/statements.py`, separately for the half used for tuning and the half set aside;
- plain SQL that Spark observed (`bench/observed_sql.py`), split in the same way;
- the statements of `bench/dialect_truth.py`, whose edges a person determined.

An edge is (source dataset, source column, output column, kind); the kind is direct, masked or indirect. Precision is
the correct share of the inferred edges. Recall is the inferred share of the observed edges, and statements that
inference cannot read count as misses. For the half set aside, only numbers are shown. Recorded statements are compared
twice: as recorded, and without edges that only one side can report (`like_with_like`).
"""

import argparse
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from bench.dialect_truth import Edge, TrueStatement, true_statements
from bench.figures import Figure, percentile, show
from bench.hostile_sql import CROWDED, HOSTILE, WIDE
from bench.observed_sql import observed_statements
from bench.statements import Statement, statements, without_column_lineage
from headwater.common.errors import InvalidEvent
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.lineage.sql.dialects import dialect_of
from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.parser import PARSER_VERSION
from headwater.lineage.sql.script_reader import read_script
from headwater.lineage.sql.tables import RunTable
from tests.support.data.samples import body

RUN = "01a1fdb4-606f-7ed7-8ccf-b1cbfed17566"
NOW_US = 2_000_000_000_000_000
PRECISION, RECALL = 0.97, 0.85

_EXPANDING = re.compile(r"(?i)\b(rollup|cube|grouping\s+sets)\b")


class Measured(NamedTuple):
    """The inferred and observed edges of a statement, the CPU time (s), and why inference could not read it, if so."""

    dialect: str
    inferred: frozenset[Edge]
    observed: frozenset[Edge]
    cpu_s: float
    unread: str | None
    key: str
    merges: bool = False
    expands: bool = False


def run() -> list[Figure]:
    """Measure both halves, the statements with edges determined by hand, and the expensive statements."""
    every = statements()
    tuned = [measure(each) for each in every if not each.held_out]
    held_out = [measure(each) for each in every if each.held_out]
    plain = [(each.held_out, measure(each)) for each in observed_statements()]
    plain_tuned, plain_held_out = ([each for is_out, each in plain if is_out is half] for half in (False, True))
    by_hand = [measure_truth(each) for each in true_statements()]
    costs = sorted(each.cpu_s for each in (*tuned, *held_out, *plain_tuned, *plain_held_out, *by_hand))
    return [
        *_rates("as recorded, tuned on", tuned, goal=False),
        *_rates("as recorded, set aside", held_out, goal=False),
        *_rates("like with like, tuned on", list(map(like_with_like, tuned))),
        *_rates("like with like, set aside", list(map(like_with_like, held_out))),
        *_rates("plain SQL as recorded, tuned on", plain_tuned, goal=False),
        *_rates("plain SQL as recorded, set aside", plain_held_out, goal=False),
        *_rates("plain SQL like with like, tuned on", list(map(like_with_like, plain_tuned))),
        *_rates("plain SQL like with like, set aside", list(map(like_with_like, plain_held_out))),
        *_rates("by hand", by_hand),
        Figure(f"CPU of a statement by {PARSER_VERSION}, p50", percentile(costs, 0.5) * 1000, "ms"),
        Figure("CPU of a statement, p99", percentile(costs, 0.99) * 1000, "ms"),
        Figure("CPU of a statement, most", costs[-1] * 1000, "ms", 1000.0),
        *(Figure(f"CPU of a hostile statement: {name}", cpu_s * 1000, "ms", 1000.0) for name, cpu_s in hostile()),
    ]


def hostile() -> Iterator[tuple[str, float]]:
    """Yield the name and CPU time (s) of each expensive statement."""
    out = RunTable(("out",), ("a",), is_input=False, is_output=True)
    for name, (dialect, sql, _) in HOSTILE.items():
        before = time.process_time()
        with suppress(UnsupportedSql):
            read_script(sql, dialect, (out, WIDE))
        yield name, time.process_time() - before
    for name, (made, size, _) in CROWDED.items():
        script = made(size)
        before = time.process_time()
        with suppress(UnsupportedSql):
            read_script(script.sql, script.dialect, script.tables)
        yield f"{name} ({size:,})", time.process_time() - before


def measure_truth(statement: TrueStatement) -> Measured:
    """Infer the column edges of a statement whose true edges are known."""
    before = time.process_time()
    inferred, unread = edges_of(statement.event)
    cpu_s = time.process_time() - before
    return Measured(statement.dialect, inferred, statement.edges, cpu_s, unread, statement.name)


def like_with_like(each: Measured) -> Measured:
    """Return a statement without edges of a kind that one side never reports, even if they are correct.

    - Columns that keep their value (MERGE, UPDATE, `INSERT INTO t SELECT * FROM t`): the rules report such an edge only
      together with other edges.
    - Columns that a ROLLUP, CUBE or GROUPING SETS groups by: Spark's listener loses them when it expands rows.
    - Columns in the ON and WHEN conditions of a MERGE: Spark's listener does not read these conditions.
    - Columns that a filter fixes to one value: Hive's optimizer replaces them by a constant, which has no source.
    """
    filtering = {edge[:2] for edge in each.observed if edge[2] == "*"}
    named = {target for _, _, target, _ in each.observed}
    sources = {edge[:2] for edge in each.observed}

    def is_comparable(edge: Edge) -> bool:
        source, column, target, kind = edge
        stays = target == f"{source}.{column}"
        compared = each.merges and kind == "indirect"
        fixed = each.dialect == "hive" and edge[:2] in filtering and target not in named
        lost = each.expands and edge[:2] not in sources
        return not (stays or compared or fixed or lost)

    inferred, observed = (frozenset(filter(is_comparable, edges)) for edges in (each.inferred, each.observed))
    return each._replace(inferred=inferred, observed=observed)


def measure(statement: Statement) -> Measured:
    """Infer the edges of a statement without its observed column lineage, and return both."""
    event = statement.event
    sql = event["job"]["facets"]["sql"]
    observed = edges_of(event, statement.others)[0]
    before = time.process_time()
    edges_of(without_lineage(event))
    cpu_s = time.process_time() - before
    inferred, unread = edges_of(without_lineage(event), statement.others)
    namespaces = [each["namespace"] for each in (*event["outputs"], *event.get("inputs", []))]
    dialect = dialect_of(sql.get("dialect"), namespaces, event.get("producer") or "")
    merges = sql["query"].lstrip()[:5].casefold() == "merge"
    expands = dialect == "spark" and bool(_EXPANDING.search(sql["query"]))
    return Measured(dialect or "any", inferred, observed, cpu_s, unread, statement.key, merges, expands)


def without_lineage(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event without column information except its SQL; inputs that only its lineage names are added."""
    hidden = without_column_lineage(event)
    listed = {(each["namespace"], each["name"]) for each in hidden.get("inputs") or []}
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


def edges_of(event: dict[str, Any], others: Sequence[dict[str, Any]] = ()) -> tuple[frozenset[Edge], str | None]:
    """Return the edges of one event as if its run had no other, and why its SQL was not read, if so.

    others: events of other runs, which contain schemas.
    """
    contents = FacetContentsInMemory()
    reader = FactsReader(default_rules().canonical, contents)
    fixed = {"run": {"runId": RUN}} | {"eventTime": event.get("eventTime") or "2026-03-01T00:00:00Z"}
    job = {**event["job"], "name": "statement"}  # a statement's other half, which Spark observes, needs no inference
    whole = {**event, **fixed, "job": job, "eventType": "COMPLETE", "producer": event.get("producer") or "unknown"}
    facts = []
    for number, each in enumerate((whole, *others)):
        with suppress(InvalidEvent):  # some recordings contain invalid events on purpose
            facts.append(reader.read_event(f"{number:032x}", NOW_US, body(each).decode()))
    candidates = FactSnapshot(facts, contents).store.candidates.values()
    found = [by_run[RUN].lineage for by_run in candidates if RUN in by_run]
    unread = next((lineage.unread_sql_reason for lineage in found if lineage.unread_sql_reason), None)
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
            "masked" if step.is_masked else "direct" if step.is_direct else "indirect",
        )


def _rates(half: str, measured: Sequence[Measured], *, goal: bool = True) -> list[Figure]:
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
        precision, recall = (both / edges if edges else 1.0 for edges in (inferred, observed))
        found.append(Figure(f"precision, {name}", precision, "", PRECISION if goal else None, ">="))
        found.append(Figure(f"recall, {name}", recall, "", RECALL if goal else None, ">="))
    return found


def main() -> None:
    """Print the figures, or with --wrong the wrong edges of the tuning half and of the statements of dialect_truth."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--wrong", action="store_true", help="show the wrong edges of the half used for tuning")
    if arguments.parse_args().wrong:
        every = (*statements(), *observed_statements())
        tuned = (like_with_like(measure(statement)) for statement in every if not statement.held_out)
        for each in (*tuned, *map(measure_truth, true_statements())):
            if each.inferred != each.observed:
                print(each.key, each.dialect, each.unread or "")
                print("  missing", sorted(each.observed - each.inferred))
                print("  too much", sorted(each.inferred - each.observed))
        return
    show("Inference", run())


if __name__ == "__main__":
    main()
