"""One lake for random worlds and cases worked out by hand: each under names of its own, in three passes."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from headwater.common.errors import LakeUnavailable
from tests.api.test_freshness import Place, gold_lacks_s
from tests.governance import test_reconcile_gold
from tests.lineage import test_lost_runs
from tests.proof import spark_judge
from tests.reference.records import Delivered
from tests.reference.worlds import FEWEST, world_in
from tests.spark import test_rule_cases as test_spark_rule_cases
from tests.support.data import hostile_names, newest_cases
from tests.support.spark import spark_driver
from tests.support.spark.spark_lake import SparkLake, bodies, world_of

PROOF = range(6)
"""Worlds of the proof, each before and after two operators."""

ONE_MORE = "fffffffe-ffff-7fff-bfff-000000000000"
"""The run that the pass takes which stands still: it counts once. Ids of later runs begin otherwise, as days later."""


class LakeOfCases(SparkLake):
    """The lake; of each world the later half, of each story one event in two, is taken late.

    Before that, a pass over one more run of a job and over lost runs stands still while others come, is taken for dead,
    and goes on. It takes few events, because each table that it has written is restored.
    `make torture` takes 2,000 worlds, and kills drivers in its place; so does `test_spark_upgrade`.

    findings: what gold says of the runs that comparisons speak of, before and behind that; ended: status of the pass
    that stood still, and what it said; lacks_s: how far gold was behind, before its events came, while it stood still,
    and once others had taken them.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        super().__init__(spark, folder)
        worlds, hostile = list(bodies(FEWEST)), hostile_names.copies()
        proof = spark_judge.bodies(spark_judge.placed_variants(PROOF))
        stories = [
            *test_spark_rule_cases.bodies(test_spark_rule_cases.sample_stories()),
            newest_cases.shuffled(Random(0)),
            *proof,
        ]
        lost, compared = list(test_lost_runs.events()), test_reconcile_gold.told()
        self._worlds = {world_of(world[0].decode()) for world in [*worlds, hostile]}
        first = [
            *(world[: len(world) // 2] for world in worlds),
            *(story[::2] for story in stories),
            hostile,
            compared[0],
        ]
        later = [*(world[len(world) // 2 :] for world in worlds), *(story[1::2] for story in stories)]
        freshness = Place(self.world.folder)
        self._store_now(lost[::2])
        self.store([body for some in first for body in some])
        self.build()
        self.findings = [test_reconcile_gold.findings(self)]
        self.lacks_s = [gold_lacks_s(freshness)]
        self._store_now(lost[1::2])
        self.store([hostile_names.one_more(ONE_MORE, 40_000)])
        with spark_driver.halted(spark, self.uri, "spark.before_state") as standing:
            self.lacks_s.append(gold_lacks_s(freshness))
            self.others_are_refused()
            self.store([*(body for some in later for body in some), *compared[1]])
            taken, self.ended = self.take_back(standing)
        assert taken > 0
        self.lacks_s.append(gold_lacks_s(freshness))
        self.findings.append(test_reconcile_gold.findings(self))

    def of_worlds(self) -> Iterator[Delivered]:
        """Yield what came of worlds, in the order of the log: of stories the answers alone are known."""
        return (each for each in self.delivered() if world_in(json.dumps(each.event)) in self._worlds)

    def _store_now(self, received: list[bytes]) -> None:
        """Let the parser take bodies received now; others are made older."""
        self.world.append(*received)
        self.parse()

    def others_are_refused(self) -> None:
        """Who comes while a pass is at work goes away, and has changed nothing."""
        before = self.operations()
        for _ in range(3):
            with pytest.raises(LakeUnavailable, match="Another pass is running in"):
                self.build()
        assert self.operations() == before

    def take_back(self, first: subprocess.Popen[str]) -> tuple[int, tuple[int, str]]:
        """Make a pass while another one stands still and its lock is gone, as where a lease ends; let that go on.

        Returns how many events the new pass took, and how the other one ended.
        """
        before = self.operations().count("RESTORE")
        (Path(self.uri) / "silver" / "_refresh" / "lock").unlink()
        taken = self.build()
        assert self.operations().count("RESTORE") > before, "what the first one has written is taken back"
        errors = spark_driver.let_go_on(first)
        return taken, (first.returncode, errors)

    def operations(self) -> list[str]:
        """Return what all commits to silver and gold were."""
        logs = (file for layer in ("silver", "gold") for file in (Path(self.uri) / layer).rglob("_delta_log/*.json"))
        lines = (json.loads(line) for file in logs for line in file.read_text("utf-8").splitlines())
        return [line["commitInfo"]["operation"] for line in lines if "commitInfo" in line]
