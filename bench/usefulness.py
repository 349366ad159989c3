"""Count the column verdicts that are `unknown`, by reason, before and after the remedies that the answers suggest.

`python -m bench.usefulness [FILE ...]` reads files of events, one JSON object per line; the default is the recorded
streams of Spark's listener and of the demo. For the demo, the remedies are the configuration that `make demo` applies:
`demo/rules` and `demo/lineage.yml`. For the recorded stream, they are the files in `bench/remedies`. One of them,
`unused.yaml`, lists columns that no run reads although a run reads their dataset.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from bench.figures import Figure, show
from headwater.events.times import parse_time
from headwater.governance.declarations.declaration import resolve_declaration
from headwater.governance.declarations.events import job_event
from headwater.governance.declarations.file import read_declaration_file
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.rules.applied_rules import apply_masking_rules
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.rules.user_rules_text import read_constants, read_consumers
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.lineage.snapshots.snapshot import Window
from headwater.lineage.traversal.column_verdicts import NO_READER
from headwater.questions.unused import dataset_verdicts

MOST_UNKNOWN = 10.0
"""Goal for the demo as `make demo` delivers it: the maximum share of `unknown` verdicts, in percent."""

MOST_UNPROVEN = 5.0
"""Goal for unread columns: the maximum share that stays `unknown` after the remedies, in percent."""

_OWN = Path(__file__).resolve().parent
_TESTS = _OWN.parent / "tests"
_RECORDED = _TESTS / "fixtures" / "events" / "spark-3.5.7-listener-1.53.0.ndjson"
DEMO = _TESTS / "fixtures" / "listener" / "demo.ndjson"
_SESSION = "/FOLDER/OF/THE/SESSION/"
"""The recording of the demo also contains the table of the Spark plugin, which is not part of the pipeline."""
_DECLARED = (_OWN.parent / "demo" / "lineage.yml", _OWN / "remedies" / "spark.yml")
_UNUSED = _OWN / "remedies" / "unused.yaml"


class Verdicts(Counter[tuple[str, str]]):
    """The number of columns by verdict and reason."""

    def share(self, verdict: str, reason: str | None = None, *, read: bool = False) -> float:
        """Return the share of a verdict in percent. read: count only columns of datasets that a reported run reads."""
        counted = {each: n for each, n in self.items() if not (read and each == ("unknown", NO_READER))}
        found = sum(n for (word, why), n in counted.items() if word == verdict and reason in (None, why))
        return 100 * found / max(1, sum(counted.values()))


ColumnVerdicts = dict[tuple[str, str], tuple[str, str]]
"""Verdict and reason by dataset and column."""


def verdicts_of(lines: Sequence[str], rules: UserRules) -> ColumnVerdicts:
    """Return the verdicts on all columns of all datasets in the events."""
    contents = FacetContentsInMemory()
    reader = FactsReader(rules.names.canonical, contents)
    facts = []
    for number, line in enumerate(lines):
        received_us = parse_time(json.loads(line).get("eventTime", ""))[0] or 0
        facts.append(reader.read_event(f"{number:032x}", received_us, line))
    snapshot = FactSnapshot(facts, contents, partial(apply_masking_rules, rules), rules)
    counted = snapshot.counted_edges_with_earlier(Window())
    return {
        (dataset.name, each.key): (each.verdict, each.reason)
        for dataset in snapshot.current_names()
        if not dataset.name.startswith(_SESSION)
        for each in dataset_verdicts(snapshot, rules, counted, dataset)
    }


def declarations(lines: Sequence[str]) -> list[str]:
    """Return the events of the declarations that concern a job of the given events."""
    jobs = {json.loads(line).get("job", {}).get("name") for line in lines}
    newest = max(json.loads(line).get("eventTime", "") for line in lines)
    declared = (
        resolve_declaration(read_declaration_file(file.read_bytes(), file.name), file.stem) for file in _DECLARED
    )
    return [json.dumps(job_event(job, newest)) for file in declared for job in file.jobs if job.name.name in jobs]


def unproven(found: ColumnVerdicts) -> tuple[int, list[str]]:
    """Return the number of unread columns with a verdict, and the names of those with the verdict `unknown`."""
    listed: dict[str, list[str]] = yaml.safe_load(_UNUSED.read_text())
    judged = {
        f"{dataset}.{column}": verdict
        for (dataset, column), (verdict, _) in found.items()
        for end, columns in listed.items()
        if dataset == end and column in columns
    }
    return len(judged), sorted(name for name, verdict in judged.items() if verdict == "unknown")


def remedies() -> UserRules:
    """Return the rules that a user of the recorded streams would write."""
    constants, consumers = _OWN / "remedies" / "constants.yaml", _OWN.parent / "demo" / "rules" / "consumers.yaml"
    return UserRules(
        constants=read_constants(constants.read_text(), constants.name),
        consumers=read_consumers(consumers.read_text(), consumers.name),
    )


def run(files: list[Path]) -> list[Figure]:
    """Measure each stream before and after the remedies."""
    figures = []
    for file in files:
        lines = file.read_text().splitlines()
        verdicts = verdicts_of(lines, UserRules()), verdicts_of([*lines, *declarations(lines)], remedies())
        before, after = (Verdicts(each.values()) for each in verdicts)
        is_demo = file == DEMO
        configured = "  as `make demo` delivers it" if is_demo else "  with remedies"
        for name, found in ((f"{file.stem}: {before.total()} columns, unknown", before), (configured, after)):
            goal = MOST_UNKNOWN if is_demo and found is after else None
            figures.append(Figure(name, found.share("unknown"), "%", goal))
            figures.append(Figure("  in datasets that a run reads", found.share("unknown", read=True), "%"))
            figures += (
                Figure(f"    {reason}: {number}", found.share(verdict, reason), "%")
                for (verdict, reason), number in found.most_common()
                if verdict == "unknown"
            )
        for when, judged in zip(("before", "after"), verdicts, strict=True):
            if (count := unproven(judged))[0]:
                share = 100 * len(count[1]) / count[0]
                goal = MOST_UNPROVEN if when == "after" else None
                figures.append(Figure(f"  of {count[0]} unread columns, {when} remedies", share, "%", goal))
    return figures


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    show("Usefulness", run(parser.parse_args().files or [_RECORDED, DEMO]))


if __name__ == "__main__":
    main()
