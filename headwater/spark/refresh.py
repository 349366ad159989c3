"""Run a pass: update silver and gold from new events in bronze, in atomic batches."""

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
from headwater.common.failpoints import reach_failpoint
from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.delta.layer_maintenance import run_due_maintenance
from headwater.spark.delta.spark_delta import (
    REPLACE_WHERE_CHECK,
    TASK_BYTES,
    TableFolder,
    run_concurrently,
    scanned_bytes,
    spark_settings,
)
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.delta.versions import (
    COMMIT_METADATA_SETTING,
    commits_with_writers,
    is_newest_version,
    newest_version,
    restore_tables,
    table_versions,
    tables_of_other_writers,
    transaction_version,
    translate_write_conflicts,
)
from headwater.spark.gold.affected_datasets import AffectedDatasets
from headwater.spark.gold.gold_edges import write_edges
from headwater.spark.gold.gold_runs import write_runs
from headwater.spark.gold.masking_surface import write_surface
from headwater.spark.gold.unused_columns import write_unused
from headwater.spark.java_names import cache_java_names
from headwater.spark.layer_generations import (
    LAYERS,
    begin_or_continue_generation,
    current_generation,
    switch_generation,
)
from headwater.spark.layer_positions import (
    LayerPosition,
    Source,
    after_position_condition,
    first_events_of_partitions,
    position_rows,
)
from headwater.spark.one_pass import hold_lake_lock
from headwater.spark.silver.bronze_reading import SHAPE_COLUMNS
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.spark.silver.silver_writing import STATE_FACETS
from headwater.spark.silver.state import COMPACT_EVERY, STATE_COPIES, SilverState
from headwater.tables import (
    BRONZE,
    DUPLICATES,
    EDGE_RUNS,
    EVENTS,
    FACETS,
    GENERATIONS,
    GOLD,
    JOBS,
    POSITIONS,
    REJECTED,
    SILVER,
    STATE,
    Table,
)
from headwater.tables.bronze import REMOVED_BEFORE
from headwater.tables.last_pass import NOTE_NAME, REFRESH_FOLDER, LastPass, decode_last_pass

BATCH_EVENTS = 100_000
"""Maximum number of events in a batch. It limits the memory that a pass over many new events needs."""

RETENTION_S = 2 * 24 * 3600
"""Minimum retention of events in bronze, in seconds. Retention keeps events for longer than this with any setting."""

TABLES: Mapping[str, Sequence[Table]] = {"silver": [each for each in SILVER if each is not STATE], "gold": GOLD}

_SINGLE_TASK_SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # a broadcast is a separate job
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.files.maxPartitionBytes": str(TASK_BYTES),
}


def refresh(
    spark: SparkSession,
    lake: str,
    rules: UserRules,
    *,
    rebuild: bool = False,
    batch_events: int = BATCH_EVENTS,
    ending: Event | None = None,
    task_bytes: int = TASK_BYTES,
) -> int:
    """Update silver and gold from bronze. Returns the number of processed events.

    If rules or code have changed, the pass builds a new generation from all of bronze. The old generation stays current
    until the new one is complete. If a build was interrupted, the next pass continues it.

    lake: folder or URI that contains `bronze`.
    rebuild: always build a new generation.
    batch_events: maximum number of events in a batch.
    ending: the pass ends after the current batch once this event is set.
    task_bytes: bytes of table files that one task reads.

    Raises WrongSetting if the lake has no bronze, and LakeUnavailable if another pass is running or has changed the
    tables.
    """
    cache_java_names(spark)
    bronze = TableFolder(spark, f"{lake}/bronze", BRONZE)
    if not bronze.exists(EVENTS):
        raise WrongSetting(f"No table `events` in {bronze.root}. Check the lake's path, or run `headwater up` once.")
    note = StoragePlace(spark, f"{lake}/{REFRESH_FOLDER}")
    if not rebuild and _is_refreshed(spark, lake, _last_pass(note), rules.rules_hash):
        return 0
    name = f"headwater {uuid4().hex}"
    with (
        hold_lake_lock(spark, lake),
        translate_write_conflicts(lake),
        spark_settings(spark, {REPLACE_WHERE_CHECK: "false", COMMIT_METADATA_SETTING: name}),
    ):
        began_s, events = time.time(), newest_version(bronze, EVENTS)
        was_idle = _may_lack_removed_events(_last_pass(note), began_s)
        found = current_generation(spark, lake, rules.rules_hash)
        folders = (
            found
            if found and not rebuild
            else begin_or_continue_generation(spark, lake, rules.rules_hash, force_new=rebuild)
        )
        for folder in (*folders.values(), bronze):
            folder.task_bytes = task_bytes
        processed, more = 0, True
        while more and not (ending and ending.is_set()):
            step = RefreshPass(folders, bronze, rules, name, builds=folders is not found, was_idle=was_idle)
            count, more = step.process(batch_events)
            processed, was_idle = processed + count, False
        if folders is not found and not more:
            switch_generation(folders, rules.rules_hash)
        if not more:
            noted = {f"bronze/{EVENTS.name}": events, **_versions_by_path(lake, folders)}
            note.write(NOTE_NAME, LastPass(began_s, rules.rules_hash, noted).encode())
    return processed


def _last_pass(place: StoragePlace) -> LastPass | None:
    try:
        return decode_last_pass(place.read(NOTE_NAME).encode()) if place.exists(NOTE_NAME) else None
    except Py4JJavaError:  # a wrong checksum, for example after a manual restore
        return None


def _may_lack_removed_events(last: LastPass | None, now_s: float) -> bool:
    """Return whether the last pass is so long ago, or unknown, that retention may have removed unprocessed events."""
    return last is None or now_s - last.began_s > RETENTION_S


def _is_refreshed(spark: SparkSession, lake: str, last: LastPass | None, rules_hash: str) -> bool:
    """Return whether a pass would find no new data: the versions of all tables are those that the last pass recorded.

    Checks which files exist in the tables' logs, like `lake.gold_pass.is_refreshed`.
    """
    if last is None or last.rules_hash != rules_hash or not last.is_recent(time.time()):
        return False
    logs = ((StoragePlace(spark, f"{lake}/{path}/_delta_log"), version) for path, version in last.versions.items())
    return all(run_concurrently(*(partial(is_newest_version, *each) for each in logs)))


def _versions_by_path(lake: str, folders: Mapping[str, TableFolder]) -> Mapping[str, int]:
    """Return the versions of a generation's tables and of the tables `GENERATIONS`, by path relative to the lake."""
    found: dict[str, int] = {}
    for layer, folder in folders.items():
        generation = folder.root.rpartition("/")[2]
        tables = LAYERS[layer]
        found |= {f"{layer}/{generation}/{table.name}": newest_version(folder, table) for table in tables}
        pointer = TableFolder(folder.spark, f"{lake}/{layer}", [GENERATIONS])
        found[f"{layer}/{GENERATIONS.name}"] = newest_version(pointer, GENERATIONS)
    return found


class RefreshPass:
    """Processes one batch of events, from bronze to gold."""

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
        """Take the tables and options of the pass.

        folders: tables of silver and gold, by layer. name: name of the writer that commits record. builds: this pass
        builds a new generation from all of bronze. was_idle: retention may have removed unprocessed events since the
        last pass.
        """
        self._builds = builds
        self._was_idle = was_idle
        self._name = name
        self._folders = folders
        self._bronze = bronze
        self._silver, self._gold = folders["silver"], folders["gold"]
        self._spark = self._silver.spark
        self._rules = rules

    def process(self, batch_events: int) -> tuple[int, bool]:
        """Process the next batch of at most about `batch_events` events.

        Returns the maximum number of events in the batch, and whether bronze contains more events.
        """
        self._state_version = newest_version(self._silver, STATE)
        with self._task_mode(single=True):
            state = SilverState(self._silver)
            before = state.position
            is_reverted = self._revert_interrupted(before)
            ahead = bronze_events(self._bronze, before)
            events, ends, count, more = first_events_of_partitions(ahead, batch_events)
            size = scanned_bytes(ahead) if count else 0
            is_single = size <= self._bronze.task_bytes
        with self._task_mode(single=is_single):
            state.compacts = before.batch + 1 - before.compacted >= COMPACT_EVERY or size > state.size
            if count:
                bindings = state.collect_part("binding")
                before = self._with_removed_before(before)
                batch = SilverBatch(self._silver, self._bronze, self._rules, before, state, bindings=bindings)
                now = self._process(batch, events, before, ends)
            elif not (write_runs(self._gold, self._rules, None) or is_reverted or before.has_stale_copies):
                return 0, False  # write_runs finds lost runs without new events
            else:
                state.compacts |= before.has_stale_copies
                now = self._refresh_copies(state, before)
            self._commit(state, replace(now, compacted=now.batch if state.compacts else before.compacted))
        run_due_maintenance(self._folders, now.batch)
        return count, more

    def _refresh_copies(self, state: SilverState, before: LayerPosition) -> LayerPosition:
        """Write the tables `STATE_COPIES` if they are older than `state`. Returns the position after this batch."""
        if before.has_stale_copies:
            run_concurrently(
                lambda: self._silver.overwrite(JOBS, state.read(JOBS)),
                lambda: self._silver.replace_rows(FACETS, STATE_FACETS, lambda _: state.read(FACETS)),
                lambda: self._gold.overwrite(EDGE_RUNS, state.read(EDGE_RUNS)),
            )
        return replace(before, batch=before.batch + 1, has_stale_copies=False)

    def _with_removed_before(self, before: LayerPosition) -> LayerPosition:
        """Return the position with `removed_before_us` set, if retention removed events that were never processed."""
        may_lack = self._builds or self._was_idle
        removed_us = transaction_version(self._bronze, EVENTS, REMOVED_BEFORE) if may_lack else None
        if removed_us is None or removed_us == before.removed_before_us:
            return before
        if not self._builds and not self._lacks_next_events(before):
            return before
        return replace(before, removed_before_us=removed_us, answers={})

    def _lacks_next_events(self, before: LayerPosition) -> bool:
        """Return whether bronze lacks the next events of some partition. Duplicates and rejected records do not count.

        The driver collects one row for each partition of the log.
        """
        place, ahead = (
            ("log", "incarnation", "partition"),
            self._bronze.read(EVENTS).where(after_position_condition(before)),
        )
        for row in ahead.groupBy(*place).agg(F.min("sequence").alias("oldest")).collect():
            processed = before.sequences.get((row.log, row.incarnation, row.partition), 0)
            between = (F.col("sequence") > processed) & (F.col("sequence") < row.oldest)
            for name in place:
                between = between & (F.col(name) == row[name])
            known = sum(self._bronze.read(table).where(between).count() for table in (DUPLICATES, REJECTED))
            if processed + 1 + known < row.oldest:
                return True
        return False

    def _revert_interrupted(self, before: LayerPosition) -> bool:
        self._versions_at_start = table_versions(self._folders, TABLES)
        return restore_tables(
            self._folders, before.versions or dict.fromkeys(self._versions_at_start, 0), self._versions_at_start
        )

    def _process(
        self, batch: SilverBatch, events: DataFrame, before: LayerPosition, ends: Mapping[Source, int]
    ) -> LayerPosition:
        batch.process(events)
        _, _, answers = run_concurrently(
            partial(write_edges, self._silver, self._gold, self._rules, batch),
            partial(write_runs, self._gold, self._rules, batch),
            partial(self._write_answers, batch, before.answers),
        )
        sequences = {**before.sequences, **ends}
        return LayerPosition(
            batch.number, sequences, batch.ambiguous_columns, batch.has_schema_sources, self._rules.masking,
            batch.has_unexplained, answers, newest_us=batch.newest_us, partitioned_names=batch.partitioned_names,
            has_nominal_times=batch.has_nominal_times,
            removed_before_us=batch.removed_before_us, has_commit_proofs=batch.has_commit_proofs, buckets=batch.buckets,
            content_chars=batch.content_chars, has_stale_copies=not all(map(batch.state.updates_copy, STATE_COPIES)),
            has_base_lists=batch.has_base_lists,
        )  # fmt: skip

    def _write_answers(self, batch: SilverBatch, before: Mapping[str, str]) -> Mapping[str, str]:
        """Write `unused_columns` and `masking_surface`. Returns `answers` for the position after the batch.

        before: `answers` of the position before the batch.
        """
        affected = AffectedDatasets(batch.folder, batch, batch.naming.representatives())
        write_unused(self._gold, affected, recompute_all=not before)
        return write_surface(self._gold, affected, before)

    def _commit(self, state: SilverState, position: LayerPosition) -> None:
        """Complete the batch. Raises LakeUnavailable if another writer has changed the tables since its start.

        The transaction of `state` has the number of the batch, so only one of two concurrent passes can complete it.
        """
        now = table_versions(self._folders, TABLES)
        if not tables_of_other_writers(self._folders, self._versions_at_start, now, self._name):
            rows = position_rows(replace(position, versions=now), self._rules.rules_hash)
            state.put(POSITIONS, self._silver.frame_of_rows(POSITIONS, rows))
            reach_failpoint("spark.before_state")
            state.write(position.batch)
        made = commits_with_writers(self._silver, STATE.name, self._state_version, newest_version(self._silver, STATE))
        if [writer for _, writer in made] != [self._name]:
            raise LakeUnavailable(
                f"Another pass changed {self._silver.root} at the same time. The next pass reverts this one. "
                "Run it again."
            )

    @contextmanager
    def _task_mode(self, *, single: bool) -> Iterator[None]:
        """Run the steps in one task if `single`, or in as many tasks as Spark chooses."""
        self._silver.small = self._gold.small = self._bronze.small = single
        with spark_settings(self._spark, _SINGLE_TASK_SETTINGS if single else {}):
            yield


def bronze_events(bronze: TableFolder, before: LayerPosition) -> DataFrame:
    """Return the events after a position, in the columns that silver reads. Times are in microseconds."""
    where = after_position_condition(before)
    times = {"received_us": F.unix_micros("received_at"), "event_time": F.unix_micros("event_time")}
    position = ("log", "incarnation", "partition", "sequence")
    events = bronze.read_listing_files_once(EVENTS, where).where(where)
    return events.withColumns(times).select(*position, *SHAPE_COLUMNS, "body")
