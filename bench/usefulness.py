"""How many verdicts about columns are `unknown`, by reason, and how many after the remedies that the answers name.

`python -m bench.usefulness [FILE ...]`: files of events, one JSON object a line; without any the recorded stream of
Spark's listener. The remedies are the rules files in `bench/remedies` and `demo/rules`.
"""

import argparse
import json
from collections import Counter
from functools import partial
from pathlib import Path

from bench.figures import Figure, show
from headwater.events.times import parse_time
from headwater.lineage.edges.declared_masking import remasked
from headwater.lineage.edges.facet_contents import ContentsInMemory
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.rules.user_rules_text import read_constants, read_consumers
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.time.snapshot import Window
from headwater.lineage.time.snapshot_of_facts import SnapshotOfFacts
from headwater.lineage.walks.column_verdicts import NO_READER
from headwater.questions.verdicts import dataset_verdicts

MOST_UNKNOWN = 10.0
"""Goal of the demo, in percent of all verdicts."""

_OWN = Path(__file__).resolve().parent
_RECORDED = _OWN.parent / "tests" / "events" / "spark-3.5.7-listener-1.53.0.ndjson"


class Verdicts(Counter[tuple[str, str]]):
    """How many columns have a verdict for a reason."""

    def share(self, verdict: str, reason: str | None = None, *, read: bool = False) -> float:
        """Return a share in percent. read: only of the columns of datasets that a reported run reads."""
        counted = {each: n for each, n in self.items() if not (read and each == ("unknown", NO_READER))}
        found = sum(n for (word, why), n in counted.items() if word == verdict and reason in (None, why))
        return 100 * found / max(1, sum(counted.values()))


def verdicts_of(events: Path, rules: UserRules) -> Verdicts:
    """Judge all columns of all datasets that some events name."""
    contents = ContentsInMemory()
    reader = FactsReader(rules.names.canonical, contents)
    facts = []
    for number, line in enumerate(events.read_text().splitlines()):
        received_us = parse_time(json.loads(line).get("eventTime", ""))[0] or 0
        facts.append(reader.read(f"{number:032x}", received_us, line))
    snapshot = SnapshotOfFacts(facts, contents, partial(remasked, rules), rules)
    counted = snapshot.counted_since(Window())
    return Verdicts(
        (each.verdict, each.reason)
        for dataset in snapshot.own_names()
        for each in dataset_verdicts(snapshot, rules, counted, dataset)
    )


def remedies() -> UserRules:
    """Return the rules that users of the recorded streams would write."""
    constants, consumers = _OWN / "remedies" / "constants.yaml", _OWN.parent / "demo" / "rules" / "consumers.yaml"
    return UserRules(
        constants=read_constants(constants.read_text(), constants.name),
        consumers=read_consumers(consumers.read_text(), consumers.name),
    )


def run(files: list[Path]) -> list[Figure]:
    """Measure each stream before and after the remedies."""
    figures = []
    for file in files:
        before, after = verdicts_of(file, UserRules()), verdicts_of(file, remedies())
        for name, found in ((f"{file.stem}: {before.total()} columns, unknown", before), ("  with remedies", after)):
            figures.append(Figure(name, found.share("unknown"), "%", MOST_UNKNOWN))
            figures.append(Figure("  of datasets that a run reads", found.share("unknown", read=True), "%"))
            figures += (
                Figure(f"    {reason}: {number}", found.share(verdict, reason), "%")
                for (verdict, reason), number in found.most_common()
                if verdict == "unknown"
            )
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    show("Usefulness", run(parser.parse_args().files or [_RECORDED]))


if __name__ == "__main__":
    main()
