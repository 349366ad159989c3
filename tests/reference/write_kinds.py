"""Writes that replace all existing rows (docs/reference/lineage.md: 6.7), as far as the tests need them."""

import re
from collections.abc import Collection, Iterable
from typing import Any

from tests.reference.generations import Dataset
from tests.reference.names import Name, Names, is_part, is_subset, reads_parts
from tests.reference.opacity import Account
from tests.reference.records import Delivered, Run, attempts_of, event_has_lineage, facets_of, is_own_table, terminal

REPLACES = re.compile(r"(atomic_|execute_)?(replace_table(_as_select)?|create_table_as_select)(_command|_exec(_v\d)?)?")
EMPTIES = re.compile(r"TRUNCATE TABLE [^ ]+ *$|DELETE FROM [^ ]+ *$|CREATE OR REPLACE TABLE .* AS ")
OF_TABLE = re.compile(
    r"(append_data|replace_data|replace_iceberg_data|write_delta|write_iceberg_delta|merge_rows|(execute_)?"
    r"(merge_into|update)(_command|_table)?(_edge)?)(_exec(_v\d)?)?"
)
PATHS = ("file", "abfss", "s3", "gs", "hdfs", "dbfs")
DATABASES = ("postgres", "mysql", "sqlserver", "oracle")
ROW_LEVEL = ("replace_iceberg_data", "replace_data", "write_delta", "write_iceberg_delta")


class WriteKinds:
    """The evidence in all events about how datasets are written."""

    def __init__(
        self,
        events: Iterable[Delivered],
        names: Names,
        renamed: Iterable[tuple[Name, Name]],
        complete: Collection[str] = (),
    ) -> None:
        """`renamed`: pairs of a name before and after a rename. `complete`: producers whose column lists
        are complete.
        """
        self.complete = complete
        self.names = names
        self.parted = {name for event in events for name in _named_by_part(event, names)}
        self.leads = {(alias, location) for alias, known in names.bindings.items() for _, location in known}
        self.leads |= set(renamed)
        self.committed = [each for event in events for each in _committed(event, names)]

    def is_by_parts(self, dataset: Dataset) -> bool:
        """Return whether any name of a dataset occurs with a partition."""
        found = self._names_of(dataset)
        while True:
            locations = {location for name in found for _, location in self.names.bindings.get(name, ())}
            more = found.union(*(self._names_of(each) for each in locations))
            if more == found:
                return not found.isdisjoint(self.parted)
            found = more

    def _names_of(self, dataset: Dataset | Name) -> set[Name]:
        found = {dataset[:2]}
        while more := {old for old, new in self.leads if new in found} - found:
            found |= more
        return found

    def _proven(self, run: Run, output: Dataset) -> set[str]:
        """Return what commits prove about a run's write of an output."""
        run_id, names = run.events[-1].event["run"]["runId"].lower(), self._names_of(output)
        return {proves for own, name, proves in self.committed if own == run_id and name in names}

    def replaces_all(self, account: Account, output: Dataset) -> bool:
        """Return whether a run rewrites an output completely."""
        run = account.run
        if run is None or output not in account.content.outputs:
            return False
        proven = self._proven(run, output)
        return proven == {"whole"} if proven else run.completes and self._reports_all_replaced(run, account, output)

    def _reports_all_replaced(self, run: Run, account: Account, output: Dataset) -> bool:
        if any(event.event.get("eventType") == "FAIL" for event in _last_completed_attempt(run)):
            return False
        if output in account.content.parts:
            return False
        job = run.events[-1].event["job"]["name"].lower().split(".")
        sql = " ".join(_sql(event) for event in run.counted).upper()
        alone = len(account.content.outputs) == 1
        if alone and EMPTIES.search(sql):
            return True
        if any(REPLACES.fullmatch(part) for part in job) and "IF NOT EXISTS" not in sql:
            return True
        facet = account.content.outputs[output].get("lifecycleStateChange", ({}, None))[0]
        is_rewrite = facet.get("lifecycleStateChange") in ("OVERWRITE", "TRUNCATE")
        return is_rewrite and not _shows_part(run.counted, job, sql, output) and not self.is_by_parts(output)

    def _is_echo(self, event: Delivered) -> bool:
        """Return whether an event names the same datasets as inputs and outputs, without column lineage."""
        read, written = (
            {self.names.canonical(each["namespace"], each["name"]) for each in event.datasets(role)}
            for role in ("inputs", "outputs")
        )
        own = {name for names in (read, written) for name in names if is_own_table(name[1])}
        return read - own == written - own and not event_has_lineage(event)

    def lists_all_columns(self, named: dict[str, Any], event: Delivered, dataset: Dataset, role: str) -> bool:
        """Return whether one event lists all columns of the dataset's table (12.6)."""
        if event.event["producer"] in self.complete:
            settled = "run" not in event.event or event.event.get("eventType") == "COMPLETE"
            in_part = reads_parts(named) if role == "inputs" else is_subset(named)
            is_whole = not is_part(named, self.names.canonical) and not in_part
            if settled and is_whole and (role == "dataset" or not self._is_echo(event)):
                return True
        return role == "outputs" and self._is_complete(named, event, dataset)

    def _is_complete(self, named: dict[str, Any], event: Delivered, dataset: Dataset) -> bool:
        body, outputs = event.event, event.datasets("outputs")
        job_type = event.facets("job").get("jobType") or {}
        is_stream = job_type.get("processingType") in {"STREAMING", "SERVICE"} or job_type.get("integration") == "FLINK"
        if "run" not in body or body.get("eventType") != "COMPLETE" or is_stream or self._is_echo(event):
            return False
        if "integration/dbt" in body["producer"] or is_part(named, self.names.canonical) or is_subset(named):
            return False
        job, sql = body["job"]["name"].lower().split("."), _sql(event).upper()
        change = (facets_of(named).get("lifecycleStateChange") or {}).get("lifecycleStateChange")
        if str(change).upper() == "ALTER" or any(OF_TABLE.fullmatch(node) for node in job[1:]):
            return True
        alone = sum(not is_own_table(each["name"]) for each in outputs) == 1
        replaces = any(REPLACES.fullmatch(part) for part in job) and "IF NOT EXISTS" not in sql
        if replaces or (alone and EMPTIES.search(sql)):
            return True
        name = self.names.canonical(named["namespace"], named["name"])
        shows_part = _shows_part([event], job, sql, name) or _writes_partitions(event)
        return str(change).upper() in ("OVERWRITE", "TRUNCATE") and not shows_part and not self.is_by_parts(dataset)


def _committed(event: Delivered, names: Names) -> Iterable[tuple[str, Name, str]]:
    """Yield (run id, output name, what a commit proves) from an event of `reconcile`."""
    if "run" not in event.event:
        return
    job = event.event["job"]
    is_ours = job["namespace"] == "headwater" and job["name"].startswith("reconcile/")
    for each in (event.facets("run").get("headwater_commits") or {}).get("commits") or []:
        if each["proves"] in ("part", "append", "nothing") or (each["proves"] == "whole" and is_ours):
            yield each["run"].lower(), names.canonical(each["namespace"], each["name"]), each["proves"]


def _shows_part(events: Iterable[Delivered], job: list[str], sql: str, output: tuple[str, ...]) -> bool:
    """Return whether a run that reports OVERWRITE may replace only a part of the rows or append."""
    words = {word for part in job for word in re.split("[^a-z]+", part)}
    saves = any(part.startswith("execute_save_into_data_source_command") for part in job)
    return (
        (saves and output[0].partition(":")[0] not in (*PATHS, *DATABASES))
        or any(part.startswith(ROW_LEVEL) for part in job)
        or not words.isdisjoint({"merge", "update", "delete"})
        or bool(re.search(r"\b(MERGE|UPDATE|DELETE|REPLACE WHERE)\b", sql))
        or _is_dynamic(events)
    )


def _named_by_part(event: Delivered, names: Names) -> Iterable[Name]:
    written = event.datasets("outputs", "dataset")
    of_partitions = bool("run" in event.event and _writes_partitions(event))
    for each in (*event.datasets("inputs"), *written):
        is_output = each in written
        if is_own_table(names.canonical(each["namespace"], each["name"])[1]):
            continue
        if is_part(each, names.canonical) or (is_subset(each) or of_partitions if is_output else reads_parts(each)):
            yield names.canonical(each["namespace"], each["name"])


def _writes_partitions(event: Delivered) -> bool:
    job = event.event["job"]["name"].lower().split(".")
    dynamic = any(part.startswith("overwrite_partitions_dynamic") for part in job)
    return dynamic or bool(re.search(r"\b(PARTITION|PARTITIONED BY) *\(", _sql(event).upper()))


def _is_dynamic(events: Iterable[Delivered]) -> bool:
    properties = (each.facets("run").get("spark_properties") or {} for each in events)
    modes = [(each.get("properties") or {}).get("spark.sql.sources.partitionOverwriteMode") for each in properties]
    return any(str(mode).lower() == "dynamic" for mode in modes)


def _sql(event: Delivered) -> str:
    return str((event.facets("job").get("sql") or {}).get("query") or "") if "run" in event.event else ""


def _last_completed_attempt(run: Run) -> list[Delivered]:
    attempts = [run.events] if run.is_streaming else attempts_of(run.events)
    found = [each for each in attempts if (end := terminal(each)) and end.event["eventType"] == "COMPLETE"]
    return found[-1]
