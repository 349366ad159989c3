"""Ids of a run in other systems, from its facets."""

from collections.abc import Iterator, Mapping
from typing import Any

from headwater.events.rule_facets import text_at

ID_FACETS = frozenset(
    {"airflow", "environment-properties", "spark_applicationDetails", "spark_properties", "tags", "trident_properties"}
)
"""Run facets with such ids."""


def ids_in(facets: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids in the facets of a run.

    The id of an Airflow task is `dag/run/task`, with `/index` if it is mapped.
    """
    properties = facets.get("spark_properties")
    environment = facets.get("environment-properties")
    texts = (
        text_at(facets.get("spark_applicationDetails"), "applicationId"),
        text_at(properties, "properties", "spark.app.id"),
        text_at(environment, "environment-properties", "spark.databricks.job.runId"),
        *_tags(facets.get("tags")),
        _task(facets.get("airflow")),
    )
    return (text for text in texts if text)


def _tags(facet: Any) -> Iterator[str | None]:
    tags = facet.get("tags") if isinstance(facet, dict) else None
    return (text_at(tag, "value") for tag in (tags if isinstance(tags, list) else ()))


def _task(facet: Any) -> str | None:
    paths = ("dag", "dag_id"), ("dagRun", "run_id"), ("task", "task_id")
    parts = [text_at(facet, *path) for path in paths]
    instance = facet.get("taskInstance") if isinstance(facet, dict) else None
    index = instance.get("map_index") if isinstance(instance, dict) else None
    mapped = [str(index)] if isinstance(index, int) and index >= 0 else []
    return "/".join([*map(str, parts), *mapped]) if all(parts) else None
