"""Build the properties of flows and jobs with the keys of DataHub's OpenLineage converter."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headwater.sinks.merging.merged_event import MergedEvent, facet
from headwater.sinks.targets.datahub.aspects import MAX_PROPERTIES, MAX_TEXT_CHARS

_ENGINE = {
    "name": "processingEngine",
    "version": "processingEngineVersion",
    "openlineageAdapterVersion": "openlineageAdapterVersion",
}
_JOB_TYPE = ("processingType", "integration", "jobType")
_SPARK_JOB = ("jobId", "jobDescription", "jobGroup", "jobCallSite")
_SPARK_VERSIONS = ("spark-version", "openlineage-spark-version")


def flow_properties(merged: MergedEvent) -> dict[str, str]:
    """Return the properties of a flow: its engine, Spark's properties, Airflow's DAG."""
    return _texts([*_engine(merged), *_part(facet(merged.of_run, "airflow"), "dag")])


def job_properties(merged: MergedEvent) -> dict[str, str]:
    """Return the properties of a job: its engine and type, Spark's properties and job, Airflow's task."""
    kind, job = facet(merged.of_job, "jobType"), facet(merged.of_run, "spark_jobDetails")
    return _texts([
        *_engine(merged),
        *((name, kind.get(name)) for name in _JOB_TYPE),
        *((name, job.get(name)) for name in _SPARK_JOB),
        *_part(facet(merged.of_run, "airflow"), "task"),
    ])  # fmt: skip


def _engine(merged: MergedEvent) -> Iterator[tuple[str, Any]]:
    engine, versions = facet(merged.of_run, "processing_engine"), facet(merged.of_run, "spark_version")
    yield from ((key, engine.get(name)) for name, key in _ENGINE.items())
    yield from ((name, versions.get(name)) for name in _SPARK_VERSIONS)
    yield from _part(facet(merged.of_run, "spark_properties"), "properties")


def _part(members: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    part = members.get(name)
    yield from part.items() if isinstance(part, dict) else ()


def _texts(members: list[tuple[str, Any]]) -> dict[str, str]:
    plain = [(key, value) for key, value in members if value is not None and not isinstance(value, (dict, list))]
    texts = ((key, value if isinstance(value, str) else msgspec.json.encode(value).decode()) for key, value in plain)
    return {key: text[:MAX_TEXT_CHARS] for key, text in [*texts][:MAX_PROPERTIES] if not key.startswith("_")}
