"""Which pipeline run a session is part of, said by an event: what `spark.openlineage.run.tags` says comes too late."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID, uuid5

from pyspark.sql import SparkSession

from headwater.common.errors import WrongSetting
from headwater.spark.doors.session_listener import ApplicationRun, SessionListener

FACET = "headwater_pipeline"
"""Of the run that is stamped: workspace, pipeline, pipelineRun, activity, notebook."""

STAMP = "headwater.stamp"
"""The property by which jobs of a stamped thread name their notebook's run, where the listener captures it."""

PRODUCER = "urn:headwater:notebook"

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_PARENT = "https://openlineage.io/spec/facets/1-1-0/ParentRunFacet.json#/$defs/ParentRunFacet"
_DESCRIPTION = "spark.job.description"


@dataclass(frozen=True)
class PipelineIds:
    """What a session is part of; `notebook` names one of several notebooks that run in it at once."""

    pipeline: str | None = None
    pipeline_run: str | None = None
    activity: str | None = None
    workspace: str | None = None
    notebook: str | None = None

    @property
    def facet(self) -> dict[str, str]:
        """Return the facet `headwater_pipeline`, without what is not known."""
        told = {
            "workspace": self.workspace,
            "pipeline": self.pipeline,
            "pipelineRun": self.pipeline_run,
            "activity": self.activity,
            "notebook": self.notebook,
        }
        return {
            "_producer": PRODUCER,
            "_schemaURL": f"{_SPEC}RunFacet",
            **{name: value for name, value in told.items() if value},
        }

    def run_below(self, application: ApplicationRun) -> ApplicationRun:
        """Return the run that gets the ids: the application's, or the notebook's. Each call returns the same run."""
        if not self.notebook:
            return application
        run = uuid5(UUID(application.run), f"{self.notebook}\n{self.activity or ''}")
        return ApplicationRun(str(run), application.namespace, f"{application.job}.{self.notebook}")


def known_ids(spark: SparkSession, **given: str | None) -> PipelineIds:
    """Return the ids that were given, workspace and activity else from Fabric's own properties.

    Raises WrongSetting if there is none at all.
    """
    conf = spark.sparkContext.getConf()
    found = {
        "workspace": conf.get("trident.workspace.id"),
        "activity": conf.get("trident.activity.id"),
    }
    ids = PipelineIds(**(found | {name: value for name, value in given.items() if value}))
    if ids == PipelineIds():
        raise WrongSetting("No id to stamp. Give pipeline=, pipeline_run=, activity=, workspace= or notebook=.")
    return ids


def stamp_event(
    application: ApplicationRun, ids: PipelineIds, event_type: Literal["OTHER", "COMPLETE"], event_time: str
) -> dict[str, Any]:
    """Return the RunEvent with the ids of a run. The run of a notebook is a child of the application's."""
    stamped = ids.run_below(application)
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
    """Say which pipeline run this session is part of, by the listener's own transport; returns the id of the run.

    notebook: only where several share the session (`runMultiple`): it gets a run of its own below the application's,
    and the Spark jobs that this thread starts from now on name it, so call this first in each of them.
    workspace, activity: else what Fabric's `trident.workspace.id` and `trident.activity.id` say.
    Raises WrongSetting where the session has no listener in reach, Retry where its transport does not take the event.
    """
    listener = SessionListener(spark)
    ids = known_ids(
        spark, pipeline=pipeline, pipeline_run=pipeline_run, activity=activity, workspace=workspace, notebook=notebook
    )
    application = listener.application()
    stamped = ids.run_below(application).run
    if ids.notebook:  # a run that is stamped and never heard of again would count as lost
        spark.sparkContext.setLocalProperty(STAMP, stamped)
        spark.sparkContext.setLocalProperty(_DESCRIPTION, f"{ids.notebook} {stamped}")
    listener.emit(stamp_event(application, ids, "COMPLETE" if ids.notebook else "OTHER", datetime.now(UTC).isoformat()))
    return stamped
