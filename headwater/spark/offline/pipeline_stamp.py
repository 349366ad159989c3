"""Report the pipeline run of a session in an event, because a cell cannot set `spark.openlineage.run.tags`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID, uuid5

from pyspark.sql import SparkSession

from headwater.common.errors import WrongSetting
from headwater.spark.offline.session_listener import ApplicationRun, SessionListener

FACET = "headwater_pipeline"
"""Name of the run facet with the ids: workspace, pipeline, pipelineRun, activity, notebook."""

STAMP = "headwater.stamp"
"""Spark property with the id of the notebook's run. `stamp` sets it for the Spark jobs of the calling thread.

Events of these jobs contain the property if the listener captures it (`spark.openlineage.capturedProperties`).
"""

PRODUCER = "urn:headwater:notebook"

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_PARENT = "https://openlineage.io/spec/facets/1-1-0/ParentRunFacet.json#/$defs/ParentRunFacet"
_DESCRIPTION = "spark.job.description"


@dataclass(frozen=True)
class PipelineIds:
    """Ids of the pipeline run that started a session.

    notebook: name of the notebook; set only if several notebooks run in the session in parallel.
    """

    pipeline: str | None = None
    pipeline_run: str | None = None
    activity: str | None = None
    workspace: str | None = None
    notebook: str | None = None

    @property
    def facet(self) -> dict[str, str]:
        """The facet `headwater_pipeline`, without ids that are not set."""
        named_ids = {
            "workspace": self.workspace,
            "pipeline": self.pipeline,
            "pipelineRun": self.pipeline_run,
            "activity": self.activity,
            "notebook": self.notebook,
        }
        return {
            "_producer": PRODUCER,
            "_schemaURL": f"{_SPEC}RunFacet",
            **{name: value for name, value in named_ids.items() if value},
        }

    def run_to_stamp(self, application: ApplicationRun) -> ApplicationRun:
        """Return the run that gets the ids: the notebook's run if `notebook` is set, else the application's run."""
        if not self.notebook:
            return application
        run = uuid5(UUID(application.run), f"{self.notebook}\n{self.activity or ''}")
        return ApplicationRun(str(run), application.namespace, f"{application.job}.{self.notebook}")


def ids_with_defaults(spark: SparkSession, **given: str | None) -> PipelineIds:
    """Return the given ids. The defaults of workspace and activity are properties that Fabric sets in the session.

    given: ids by field of `PipelineIds`. Raises WrongSetting if no id is known.
    """
    conf = spark.sparkContext.getConf()
    found = {
        "workspace": conf.get("trident.workspace.id"),
        "activity": conf.get("trident.activity.id"),
    }
    ids = PipelineIds(**(found | {name: value for name, value in given.items() if value}))
    if ids == PipelineIds():
        raise WrongSetting("No id to stamp. Pass pipeline=, pipeline_run=, activity=, workspace= or notebook=.")
    return ids


def stamp_event(
    application: ApplicationRun, ids: PipelineIds, event_type: Literal["OTHER", "COMPLETE"], event_time: str
) -> dict[str, Any]:
    """Return the RunEvent that contains the ids.

    If `ids.notebook` is set, the run of the notebook is a child of the application's run.
    """
    stamped = ids.run_to_stamp(application)
    facets: dict[str, Any] = {FACET: ids.facet}
    if stamped != application:
        job = {"namespace": application.namespace, "name": application.job}
        facets["parent"] = {
            "_producer": PRODUCER, "_schemaURL": _PARENT, "run": {"runId": application.run}, "job": job,
        }  # fmt: skip
    return {
        "eventType": event_type,
        "eventTime": event_time,
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}RunEvent",
        "run": {"runId": stamped.run, "facets": facets},
        "job": {"namespace": stamped.namespace, "name": stamped.job},
        "inputs": [],
        "outputs": [],
    }


def stamp(
    spark: SparkSession,
    *,
    pipeline: str | None = None,
    pipeline_run: str | None = None,
    activity: str | None = None,
    workspace: str | None = None,
    notebook: str | None = None,
) -> str:
    """Send an event with the ids of this session's pipeline run through the listener's transport.

    Returns the id of the OpenLineage run that gets the ids: the application's run, or the notebook's run if `notebook`
    is set.

    notebook: set it only if several notebooks share the session (`runMultiple`). The notebook then gets a run of its
    own, a child of the application's run. Later Spark jobs of this thread report this run, so call `stamp` in the first
    cell of each notebook. workspace, activity: by default Fabric's properties `trident.workspace.id` and
    `trident.activity.id`.

    Raises WrongSetting if no id is known or Python finds no listener in the session. Raises Retry if the transport
    rejects the event.
    """
    listener = SessionListener(spark)
    ids = ids_with_defaults(
        spark, pipeline=pipeline, pipeline_run=pipeline_run, activity=activity, workspace=workspace, notebook=notebook
    )
    application = listener.application()
    stamped = ids.run_to_stamp(application).run
    if ids.notebook:  # its event is COMPLETE, because a run without an end would count as lost
        spark.sparkContext.setLocalProperty(STAMP, stamped)
        spark.sparkContext.setLocalProperty(_DESCRIPTION, f"{ids.notebook} {stamped}")
    listener.emit(stamp_event(application, ids, "COMPLETE" if ids.notebook else "OTHER", datetime.now(UTC).isoformat()))
    return stamped
