"""Which writes replace all rows that were there (docs/lineage.md: 6.7), as far as worlds and cases need it."""

import re
from collections.abc import Iterable

from tests.reference.generations import Dataset
from tests.reference.names import Name, Names, is_part, is_subset
from tests.reference.opacity import Account
from tests.reference.records import Delivered, Run, attempts_of, is_own_table, terminal

REPLACES = re.compile(r"(atomic_|execute_)?(replace_table(_as_select)?|create_table_as_select)(_command|_exec(_v\d)?)?")
PATHS = ("file", "abfss", "s3", "gs", "hdfs", "dbfs")
DATABASES = ("postgres", "mysql", "sqlserver", "oracle")
ROW_LEVEL = ("replace_iceberg_data", "replace_data", "write_delta", "write_iceberg_delta")


class WriteKinds:
    """What all events together show of how datasets are written."""

    def __init__(self, events: Iterable[Delivered], names: Names, renamed: Iterable[tuple[Name, Name]]) -> None:
        """`renamed`: pairs of a name before and after a rename."""
        self.parted = {name for event in events for name in _named_by_part(event, names)}
        self.leads = {(alias, location) for alias, known in names.bindings.items() for _, location in known}
        self.leads |= set(renamed)

    def is_by_parts(self, dataset: Dataset) -> bool:
        """Tell whether any name that may mean a dataset comes with a partition somewhere."""
        found = {dataset[:2]}
        while more := {old for old, new in self.leads if new in found} - found:
            found |= more
        return not found.isdisjoint(self.parted)

    def replaces_all(self, account: Account, output: Dataset) -> bool:
        """Tell whether a run is a whole rewrite of an output."""
        run = account.run
        if run is None or not run.completes or output not in account.content.outputs:
            return False
        if any(event.event.get("eventType") == "FAIL" for event in _last_completed_attempt(run)):
            return False
        if output in account.content.parts:
            return False
        job = run.events[-1].event["job"]["name"].lower().split(".")
        sql = " ".join(_sql(event) for event in run.counted).upper()
        alone = len(account.content.outputs) == 1
        if alone and re.search(r"TRUNCATE TABLE [^ ]+ *$|DELETE FROM [^ ]+ *$|CREATE OR REPLACE TABLE .* AS ", sql):
            return True
        if any(REPLACES.fullmatch(part) for part in job) and "IF NOT EXISTS" not in sql:
            return True
        facet = account.content.outputs[output].get("lifecycleStateChange", ({}, None))[0]
        is_rewrite = facet.get("lifecycleStateChange") in ("OVERWRITE", "TRUNCATE")
        return is_rewrite and not _shows_part(run, job, sql, output) and not self.is_by_parts(output)


def _shows_part(run: Run, job: list[str], sql: str, output: Dataset) -> bool:
    """Tell whether a run that reports OVERWRITE shows that it replaces a part, or may be an append."""
    words = {word for part in job for word in re.split("[^a-z]+", part)}
    saves = any(part.startswith("execute_save_into_data_source_command") for part in job)
    return (
        (saves and output[0].partition(":")[0] not in (*PATHS, *DATABASES))
        or any(part.startswith(ROW_LEVEL) for part in job)
        or not words.isdisjoint({"merge", "update", "delete"})
        or bool(re.search(r"\b(MERGE|UPDATE|DELETE|REPLACE WHERE)\b", sql))
        or _is_dynamic(run)
    )


def _named_by_part(event: Delivered, names: Names) -> Iterable[Name]:
    written = event.datasets("outputs", "dataset")
    of_partitions = bool("run" in event.event and _writes_partitions(event))
    for each in (*event.datasets("inputs"), *written):
        is_output = each in written
        if is_own_table(names.canonical(each["namespace"], each["name"])[1]):
            continue
        if is_part(each, names.canonical) or (is_output and (is_subset(each) or of_partitions)):
            yield names.canonical(each["namespace"], each["name"])


def _writes_partitions(event: Delivered) -> bool:
    job = event.event["job"]["name"].lower().split(".")
    dynamic = any(part.startswith("overwrite_partitions_dynamic") for part in job)
    return dynamic or bool(re.search(r"\b(PARTITION|PARTITIONED BY) *\(", _sql(event).upper()))


def _is_dynamic(run: Run) -> bool:
    properties = (each.facets("run").get("spark_properties") or {} for each in run.counted)
    modes = [(each.get("properties") or {}).get("spark.sql.sources.partitionOverwriteMode") for each in properties]
    return any(str(mode).lower() == "dynamic" for mode in modes)


def _sql(event: Delivered) -> str:
    return str((event.facets("job").get("sql") or {}).get("query") or "") if "run" in event.event else ""


def _last_completed_attempt(run: Run) -> list[Delivered]:
    attempts = [run.events] if run.is_streaming else attempts_of(run.events)
    found = [each for each in attempts if (end := terminal(each)) and end.event["eventType"] == "COMPLETE"]
    return found[-1]
