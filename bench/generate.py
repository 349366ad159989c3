"""Generate reproducible run events like those of Spark's listener: jobs in layers that read and write tables."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

COLUMNS = {2: 0, 8: 8, 12: 20, 15: 25}
"""Event size in KB -> number of columns in each table."""

_STORE = "abfss://lake@account"
_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
_SPEC = "https://openlineage.io/spec/"
_TYPES = ("string", "long", "double", "timestamp", "decimal(18,2)", "boolean")
_KINDS = ("id", "name", "amount", "at", "flag")
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def generate(
    count: int,
    kilobytes: int,
    *,
    jobs: int = 300,
    new_lineage: bool = False,
    dated: bool = False,
    seed: int = 7,
    first: int = 0,
) -> Iterator[bytes]:
    """Yield `count` events of about 2, 8, 12 or 15 KB, alternating START and COMPLETE.

    jobs: the number of recurring jobs; each sends the same facets every time. new_lineage: never repeat a column
    lineage facet. dated: every fifth job writes a new file with the date in its name each time. first: the number of
    the first event; apart from row and byte statistics, the events do not depend on it.
    """
    warehouse = _Warehouse(jobs, COLUMNS[kilobytes], seed, dated=dated)
    for number in range(first, first + count):
        salt = number + 1 if new_lineage else 0
        yield json.dumps(warehouse.event(number, salt), separators=(",", ":")).encode()


class _Warehouse:
    """The jobs, the tables that they read and write, and the columns of these tables."""

    def __init__(self, jobs: int, columns: int, seed: int, *, dated: bool):
        self._random = random.Random(seed)
        self._jobs = jobs
        self._columns = columns
        self._dated = dated
        self._reads = [self._random.sample(range(max(4, 2 * job)), 2) for job in range(jobs)]
        self._lineage = lru_cache(jobs)(self._lineage_of)

    def event(self, number: int, salt: int) -> dict[str, Any]:
        """Build event `number`; two consecutive events belong to the same run."""
        run = number // 2
        job = run % self._jobs
        moment = (_EPOCH + timedelta(seconds=3 * number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {
            "eventTime": moment,
            "producer": _PRODUCER,
            "schemaURL": _SPEC + "2-0-2/OpenLineage.json#/$defs/RunEvent",
            "eventType": ("START", "COMPLETE")[number % 2],
            "run": {"runId": _run_id(run), "facets": self._run_facets(run, moment)},
            "job": {
                "namespace": "spark_prod",
                "name": f"etl_{job // 20:03d}.execute_insert_into.job_{job:04d}",
                "facets": {"jobType": _facet("JobTypeJobFacet", processingType="BATCH", integration="SPARK")},
            },
            "inputs": [self._dataset(table) for table in self._reads[job]],
            "outputs": [self._output(job, salt, run // self._jobs)],
        }

    def _run_facets(self, run: int, moment: str) -> dict[str, Any]:
        if not self._columns:
            return {}
        return {
            "parent": _facet("ParentRunFacet", run={"runId": _run_id(run + 2**40)}, job=_APPLICATION),
            "processing_engine": _facet("ProcessingEngineRunFacet", version="3.5.7", name="spark"),
            "nominalTime": _facet("NominalTimeRunFacet", nominalStartTime=moment),
            "spark_properties": _facet("RunFacet", properties={"spark.master": "yarn", "spark.app.name": "etl"}),
        }

    def _output(self, job: int, salt: int, day: int) -> dict[str, Any]:
        output = self._dataset(2 * job + 4)
        if self._dated and job % 5 == 0:
            output["name"] += f"_{_EPOCH + timedelta(days=day):%Y%m%d}.csv"
        if self._columns:
            output["facets"]["columnLineage"] = self._lineage(job, salt)
            output["outputFacets"] = {
                "outputStatistics": _facet(
                    "OutputStatisticsOutputDatasetFacet",
                    rowCount=self._random.randrange(10**6),
                    size=self._random.randrange(10**9),
                )
            }
        return output

    def _dataset(self, table: int) -> dict[str, Any]:
        facets = {"dataSource": _facet("DatasourceDatasetFacet", name=_STORE, uri=_STORE)}
        if self._columns:
            fields = [{"name": name, "type": kind} for name, kind in _columns(table, self._columns)]
            facets["schema"] = _facet("SchemaDatasetFacet", fields=fields)
            facets["storage"] = _facet("StorageDatasetFacet", storageLayer="delta", fileFormat="parquet")
        return {"namespace": _STORE, "name": _table(table), "facets": facets}

    def _lineage_of(self, job: int, salt: int) -> dict[str, Any]:
        """Choose one or two random input columns for each output column of a job."""
        draw = random.Random(job * 100_003 + salt)
        fields = {}
        for name, _ in _columns(2 * job + 4, self._columns):
            tables = draw.choices(self._reads[job], k=draw.choice((1, 1, 1, 2)))
            fields[name] = {"inputFields": [self._input_field(draw, table) for table in tables]}
        return _facet("ColumnLineageDatasetFacet", fields=fields)

    def _input_field(self, draw: random.Random, table: int) -> dict[str, Any]:
        name, _ = draw.choice(_columns(table, self._columns))
        step = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "", "masking": False}
        return {"namespace": _STORE, "name": _table(table), "field": name, "transformations": [step]}


_APPLICATION = {"namespace": "spark_prod", "name": "etl"}


def _facet(name: str, /, **members: Any) -> dict[str, Any]:
    return {"_producer": _PRODUCER, "_schemaURL": f"{_SPEC}facets/1-0-0/{name}.json#/$defs/{name}", **members}


def _run_id(run: int) -> str:
    """Return a run ID; `load.py` derives further IDs by changing its first eight digits."""
    return str(UUID(int=run, version=4))


def _table(number: int) -> str:
    return f"warehouse/{('raw', 'silver', 'gold')[number % 3]}/domain{number % 17:02d}/table_{number:05d}"


@cache
def _columns(table: int, count: int) -> list[tuple[str, str]]:
    return [
        (f"col_{number:02d}_{_KINDS[(table + number) % 5]}", _TYPES[(table * 3 + number) % 6])
        for number in range(count)
    ]
