"""One pass over what is new in bronze: silver and gold together, a batch at a time, each as a whole or not at all."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Event
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.common.failpoints import reach
from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.delta.layer_maintenance import maintain
from headwater.spark.delta.spark_delta import CHECK, TableFolder, settings, together
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.delta.versions import (
    SIGNED,
    newest,
    put_back,
    strangers,
    transaction,
    undisturbed,
    versions,
    writers,
)
from headwater.spark.gold.gold_answers import write_answers
from headwater.spark.gold.gold_edges import write_edges
from headwater.spark.gold.gold_runs import write_runs
from headwater.spark.java_names import keep_names
from headwater.spark.layer_generations import LAYERS, begin, current, switch
from headwater.spark.layer_positions import LayerPosition, Source, beyond, limited, position_rows, read_position
from headwater.spark.one_pass import alone
from headwater.spark.silver.bronze_reading import READ
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.spark.silver.state import State
from headwater.tables import BRONZE, DUPLICATES, EVENTS, GENERATIONS, GOLD, POSITIONS, REJECTED, SILVER, STATE, Table
from headwater.tables.bronze import REMOVED_BEFORE
from headwater.tables.last_pass import NOTE_NAME, REFRESH_FOLDER, LastPass, decode_last_pass

BATCH_EVENTS = 100_000
"""Events taken at a time: what a batch must hold is bounded, however much has piled up."""

KEPT_S = 2 * 24 * 3600
"""Retention leaves events in bronze for longer than this many seconds, whatever its setting."""

FEW_EVENTS = 20_000
"""A batch of so many is worked out in one task: to exchange rows between tasks costs more than that saves."""

TABLES: Mapping[str, Sequence[Table]] = {"silver": [each for each in SILVER if each is not STATE], "gold": GOLD}

_FEW = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # a broadcast is a job of its own
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
}


def refresh(
    spark: SparkSession,
    lake: str,
    rules: UserRules,
    *,
    rebuild: bool = False,
    batch_events: int = BATCH_EVENTS,
    ending: Event | None = None,
) -> int:
    """Bring silver and gold up to bronze; returns the number of events taken. A second call finds nothing to do.

    What was made by other rules, or by older code, stays in force until all of bronze has been taken by these, beside
    it; a pass that was cut off before is gone on with. lake: folder or URI that holds `bronze`; rebuild: in any case,
    anew; ending: once it is set, the batch that is under way is the last one. Raises LakeUnavailable where another pass
    is at work; then this one has changed nothing.
    """
    keep_names(spark)
    bronze = TableFolder(spark, f"{lake}/bronze", BRONZE)
    if not bronze.exists(EVENTS):
        raise WrongSetting(f"No table `events` in {bronze.root}. Name the lake's folder, or start `headwater up` once.")
    name = f"headwater {uuid4().hex}"
    with alone(spark, lake), undisturbed(lake), settings(spark, {CHECK: "false", SIGNED: name}):
        began_s, events = time.time(), newest(bronze, EVENTS)
        was_idle = _was_idle(StoragePlace(spark, f"{lake}/{REFRESH_FOLDER}"), began_s)
        found = current(spark, lake, rules.rules_hash)
        folders = found if found and not rebuild else begin(spark, lake, rules.rules_hash, anew=rebuild)
        taken, more = 0, True
        while more and not (ending and ending.is_set()):
            step = Pass(folders, bronze, rules, name, builds=folders is not found, was_idle=was_idle)
            count, more = step.take(batch_events)
            taken, was_idle = taken + count, False
        if folders is not found and not more:
            switch(folders, rules.rules_hash)
        if not more:
            note = LastPass(
                began_s, rules.rules_hash, {f"bronze/{EVENTS.name}": events, **_versions_by_path(lake, folders)}
            )
            StoragePlace(spark, f"{lake}/{REFRESH_FOLDER}").write(NOTE_NAME, note.encode())
    return taken


def _was_idle(place: StoragePlace, now_s: float) -> bool:
    """Tell whether the last pass is so long ago that retention may have removed events since that no pass has taken."""
    try:
        last = decode_last_pass(place.read(NOTE_NAME).encode()) if place.has(NOTE_NAME) else None
    except Py4JJavaError:  # its checksum is another one, as after a file was restored by hand
        last = None
    return last is None or now_s - last.began_s > KEPT_S


def _versions_by_path(lake: str, folders: Mapping[str, TableFolder]) -> Mapping[str, int]:
    """Return the versions of a generation's tables, and of those that say which generation is in force."""
    found: dict[str, int] = {}
    for layer, folder in folders.items():
        generation = folder.root.rpartition("/")[2]
        tables = LAYERS[layer]
        found |= {f"{layer}/{generation}/{table.name}": newest(folder, table) for table in tables}
        pointer = TableFolder(folder.spark, f"{lake}/{layer}", [GENERATIONS])
        found[f"{layer}/{GENERATIONS.name}"] = newest(pointer, GENERATIONS)
    return found


class Pass:
    """A batch of events, from bronze to gold."""

    def __init__(
        self,
        folders: Mapping[str, TableFolder],
        bronze: TableFolder,
        rules: UserRules,
        name: str,
        *,
        builds: bool,
        was_idle: bool,
    ):
        """Read nothing yet.

        name: what commits are signed with; builds: the layers are not in force yet, and take all that bronze has;
        was_idle: there was no pass for longer than retention leaves events, or it is not known.
        """
        self._builds = builds
        self._was_idle = was_idle
        self._name = name
        self._folders = folders
        self._bronze = bronze
        self._silver, self._gold = folders["silver"], folders["gold"]
        self._spark = self._silver.spark
        self._rules = rules

    def take(self, batch_events: int) -> tuple[int, bool]:
        """Take the next events; returns how many, and whether there were more."""
        self._began = newest(self._silver, STATE)
        with self._sized(few=True):
            state = State(self._silver)
            before = read_position(state.collect("position"))
            is_put_back = self._put_back(before)
            events, ends, count, more = limited(bronze_events(self._bronze, before), batch_events)
        with self._sized(few=count <= FEW_EVENTS):
            if count:
                bindings = state.collect("binding")
                before = self._with_removal(before)
                batch = SilverBatch(self._silver, self._bronze, self._rules, before, state, bindings=bindings)
                now = self._take(batch, events, before, ends)
            elif not (write_runs(self._gold, self._rules, None) or is_put_back):  # time alone loses runs
                return 0, False
            else:
                now = replace(before, batch=before.batch + 1)
            self._commit(state, now)
        maintain(self._folders, now.batch)
        return count, more

    def _with_removal(self, before: LayerPosition) -> LayerPosition:
        """Note which events retention has removed from bronze before these layers could take them."""
        may_lack = self._builds or self._was_idle
        removed_us = transaction(self._bronze, EVENTS, REMOVED_BEFORE) if may_lack else None
        if removed_us is None or removed_us == before.removed_before_us:
            return before
        if not self._builds and not self._lacks_removed(before):
            return before
        return replace(before, removed_before_us=removed_us, answers={})

    def _lacks_removed(self, before: LayerPosition) -> bool:
        """Tell whether a partition begins behind the next record of these layers, duplicates and rejected ones aside.

        One row for each partition of the log is collected.
        """
        place, ahead = ("log", "incarnation", "partition"), self._bronze.read(EVENTS).where(beyond(before))
        for row in ahead.groupBy(*place).agg(F.min("sequence").alias("oldest")).collect():
            taken = before.sequences.get((row.log, row.incarnation, row.partition), 0)
            between = (F.col("sequence") > taken) & (F.col("sequence") < row.oldest)
            for name in place:
                between = between & (F.col(name) == row[name])
            known = sum(self._bronze.read(table).where(between).count() for table in (DUPLICATES, REJECTED))
            if taken + 1 + known < row.oldest:
                return True
        return False

    def _put_back(self, before: LayerPosition) -> bool:
        self._found = versions(self._folders, TABLES)
        return put_back(self._folders, before.versions or dict.fromkeys(self._found, 0), self._found)

    def _take(
        self, batch: SilverBatch, events: DataFrame, before: LayerPosition, ends: Mapping[Source, int]
    ) -> LayerPosition:
        batch.take(events)
        _, _, answers = together(
            partial(write_edges, self._silver, self._gold, self._rules, batch),
            partial(write_runs, self._gold, self._rules, batch),
            partial(self._answers, batch, before.answers),
        )
        sequences = {**before.sequences, **ends}
        return LayerPosition(
            batch.number, sequences, batch.exact, batch.borrows, self._rules.masking, batch.asks, answers,
            newest_us=batch.newest_us, parted=batch.parted, dated=batch.dated,
            removed_before_us=batch.removed_before_us, proves=batch.proves, buckets=batch.buckets,
        )  # fmt: skip

    def _answers(self, batch: SilverBatch, before: Mapping[str, str]) -> Mapping[str, str]:
        return before if before and batch.answers_stand else write_answers(self._gold, self._rules, batch, before)

    def _commit(self, state: State, position: LayerPosition) -> None:
        """Say that the batch is done, if nobody else has written meanwhile.

        Of two that get here, one: the transaction of `state` is numbered by the batch, and goes on by one.
        """
        now = versions(self._folders, TABLES)
        if not strangers(self._folders, self._found, now, self._name):
            rows = position_rows(replace(position, versions=now), self._rules.rules_hash)
            state.set(POSITIONS, self._silver.rows(POSITIONS, rows))
            reach("spark.before_state")
            state.write(position.batch)
        made = writers(self._silver, STATE.name, self._began, newest(self._silver, STATE))
        if [writer for _, writer in made] != [self._name]:
            raise LakeUnavailable(
                f"Another pass has worked in {self._silver.root} at the same time. What this one wrote is taken back "
                "by the next. Run it again."
            )

    @contextmanager
    def _sized(self, *, few: bool) -> Iterator[None]:
        """Work in one task, or in as many as there are."""
        self._silver.small = self._gold.small = self._bronze.small = few
        with settings(self._spark, _FEW if few else {}):
            yield


def bronze_events(bronze: TableFolder, before: LayerPosition) -> DataFrame:
    """Return the events behind a position in the columns of bronze that silver reads, times in us."""
    where = beyond(before)
    times = {"received_us": F.unix_micros("received_at"), "event_time": F.unix_micros("event_time")}
    position = ("log", "incarnation", "partition", "sequence")
    events = bronze.fixed(EVENTS, where).where(where)
    return events.withColumns(times).select(*position, *READ, "body")
