"""One pass over what is new in bronze: silver and gold together, a batch at a time, each as a whole or not at all."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.errors import LakeUnavailable, WrongSetting
from headwater.lineage.user_rules import UserRules
from headwater.spark.batch import Batch
from headwater.spark.delta import CHECK, Folder, settings, together
from headwater.spark.generations import begin, current, switch
from headwater.spark.gold_answers import write_answers
from headwater.spark.gold_edges import write_edges
from headwater.spark.gold_runs import write_runs
from headwater.spark.parse import READ
from headwater.spark.positions import Position, Source, beyond, limited, position_rows, read_position
from headwater.spark.state import State
from headwater.spark.versions import newest, put_back, versions
from headwater.tables import BINDINGS, BRONZE, EVENTS, GOLD, POSITIONS, SILVER, STATE, Table

BATCH_EVENTS = 100_000
"""Events taken at a time: what a batch must hold is bounded, however much has piled up."""

FEW_EVENTS = 20_000
"""A batch of so many is worked out in one task: to exchange rows between tasks costs more than that saves."""

TABLES: Mapping[str, Sequence[Table]] = {"silver": [each for each in SILVER if each is not STATE], "gold": GOLD}

_FEW = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # a broadcast is a job of its own
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
}


def refresh(
    spark: SparkSession, lake: str, rules: UserRules, *, rebuild: bool = False, batch_events: int = BATCH_EVENTS
) -> int:
    """Bring silver and gold up to bronze; returns the number of events taken. A second call finds nothing to do.

    What was made by other rules, or by older code, stays in force until all of bronze has been taken by these, beside
    it; a pass that was cut off before is gone on with. lake: folder or URI that holds `bronze`; rebuild: in any case,
    anew. Raises LakeUnavailable where another pass is at work.
    """
    bronze = Folder(spark, f"{lake}/bronze", BRONZE)
    events = bronze_events(bronze)
    found = current(spark, lake, rules.rules_hash)
    folders = found if found and not rebuild else begin(spark, lake, rules.rules_hash, anew=rebuild)
    taken = 0
    with settings(spark, {CHECK: "false"}):
        more = True
        while more:
            count, more = Pass(folders, bronze, rules).take(events, batch_events)
            taken += count
    if folders is not found:
        switch(folders, rules.rules_hash)
    return taken


class Pass:
    """A batch of events, from bronze to gold."""

    def __init__(self, folders: Mapping[str, Folder], bronze: Folder, rules: UserRules):
        """Read nothing yet."""
        self._folders = folders
        self._bronze = bronze
        self._silver, self._gold = folders["silver"], folders["gold"]
        self._spark = self._silver.spark
        self._rules = rules

    def take(self, every: DataFrame, batch_events: int) -> tuple[int, bool]:
        """Take the next events; returns how many, and whether there were more."""
        began = newest(self._silver, STATE)
        with self._sized(few=True):
            state = State(self._silver)
            rows = state.collect(POSITIONS, BINDINGS)
            before = read_position(rows[POSITIONS.name])
            self._put_back(before)
            events, ends, count, more = limited(beyond(every, before), batch_events)
        with self._sized(few=count <= FEW_EVENTS):
            if count:
                batch = Batch(self._silver, self._bronze, self._rules, before, state, bindings=rows[BINDINGS.name])
                now = self._take(batch, events, before, ends)
            elif not write_runs(self._gold, self._rules, None):  # time alone loses runs
                return 0, False
            else:
                now = before
            self._commit(state, now, began)
        return count, more

    def _put_back(self, before: Position) -> None:
        found = versions(self._folders, TABLES)
        put_back(self._folders, before.versions or dict.fromkeys(found, 0), found)
        self._found = versions(self._folders, TABLES)
        for folder in self._folders.values():
            folder.commits.clear()

    def _take(self, batch: Batch, events: DataFrame, before: Position, ends: Mapping[Source, int]) -> Position:
        batch.take(events)
        _, _, answers = together(
            partial(write_edges, self._silver, self._gold, self._rules, batch),
            partial(write_runs, self._gold, self._rules, batch),
            partial(self._answers, batch, before.answers),
        )
        sequences = {**before.sequences, **ends}
        return Position(batch.number, sequences, batch.exact, batch.borrows, self._rules.masking, batch.asks, answers)

    def _answers(self, batch: Batch, before: Mapping[str, str]) -> Mapping[str, str]:
        return before if before and batch.answers_stand else write_answers(self._gold, self._rules, batch, before)

    def _commit(self, state: State, position: Position, began: int) -> None:
        """Say that the batch is done, if nobody else has written meanwhile."""
        plain = self._gold.rows(POSITIONS, position_rows(position, self._rules.rules_hash))
        self._gold.overwrite(POSITIONS, self._gold.few(plain))
        now = versions(self._folders, TABLES)
        mine = {key: number + self._commits(key) for key, number in self._found.items()}  # at most: of nothing is none
        if any(now[key] > mine[key] for key in now) or newest(self._silver, STATE) != began:
            raise LakeUnavailable(
                f"Another pass works in {self._silver.root}. Let one at a time; run it again when that has ended."
            )
        rows = position_rows(replace(position, versions=now), self._rules.rules_hash)
        state.set(POSITIONS, self._silver.rows(POSITIONS, rows))
        state.write()

    def _commits(self, key: str) -> int:
        layer, _, name = key.partition("/")
        return self._folders[layer].commits[name]

    @contextmanager
    def _sized(self, *, few: bool) -> Iterator[None]:
        """Work in one task, or in as many as there are."""
        self._silver.small = self._gold.small = self._bronze.small = few
        with settings(self._spark, _FEW if few else {}):
            yield


def bronze_events(bronze: Folder) -> DataFrame:
    """Return the columns of bronze that silver reads, times in us."""
    if not bronze.exists(EVENTS):
        raise WrongSetting(f"No table `events` in {bronze.root}. Name the lake's folder, or start `headwater up` once.")
    times = {"received_us": F.unix_micros("received_at"), "event_time": F.unix_micros("event_time")}
    position = ("log", "incarnation", "partition", "sequence")
    return bronze.read(EVENTS).withColumns(times).select(*position, *READ, "body")
