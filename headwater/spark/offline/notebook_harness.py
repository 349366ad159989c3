"""Copy a notebook's events from the file transport's files to a folder from which `headwater ingest` reads."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, TypedDict
from uuid import UUID

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headwater.common.errors import Retry, WrongSetting
from headwater.events.times import iso_time
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.offline.file_transport_events import ApplicationEvents, transport_files
from headwater.spark.offline.pipeline_stamp import PipelineIds, ids_with_defaults, stamp_event
from headwater.spark.offline.session_listener import ApplicationRun, SessionListener

_PIECE = 1 << 20


class HarnessResult(TypedDict):
    """The result of `harness`. The docstring of `harness` describes the fields."""

    file: str
    new: bool
    events: int
    lost: int
    unfinished: int
    other_applications: int


def harness(
    spark: SparkSession,
    folder: str,
    *,
    pipeline: str | None = None,
    pipeline_run: str | None = None,
    activity: str | None = None,
    workspace: str | None = None,
    notebook: str | None = None,
) -> HarnessResult:
    """Store the events that OpenLineage's file transport wrote for this session, with the ids of the pipeline run.

    Call this function in the last cell. It adds one event to the application's run, or to the notebook's run if
    `notebook` is set. This event contains the ids and the state COMPLETE, because the listener sends its own COMPLETE
    only after the last cell.

    folder: any path or URI that Spark can write to. The file's name contains a digest of its content, so a second call
    with the same events stores nothing. pipeline, pipeline_run, activity, workspace, notebook: ids as in `stamp`. Set
    `notebook` only if several notebooks share the session.

    Returns `file` (path of the file below the folder), `new` (false if the file existed), `events` (number of stored
    events), `lost` (number of lost events that the files show), `unfinished` (number of runs that started but did not
    end) and `other_applications` (number of other applications with events in the same files). Raises WrongSetting if
    the session lacks the listener, the file transport or any event. Raises Retry if the listener is behind or Spark
    cannot write to the folder.
    """
    listener = SessionListener(spark)
    ids = ids_with_defaults(
        spark, pipeline=pipeline, pipeline_run=pipeline_run, activity=activity, workspace=workspace, notebook=notebook
    )
    listener.wait_until_processed()
    context = spark.sparkContext
    began_ms = int(context.startTime)
    files = transport_files(dict(context.getConf().getAll()), began_ms / 1000)
    events = ApplicationEvents(listener.application().run)
    stored = _NotebookFile(events, _ClosingLines(context, listener.application(), ids, began_ms))
    try:
        new = StoragePlace(spark, folder).create_named_last(
            stored.pieces(events.event_lines(files)), stored.stored_name
        )
    except (OSError, Py4JJavaError) as error:
        raise Retry(f"Cannot store the events in {folder}: {str(error)[:300]} Call this function again.") from error
    return HarnessResult(
        file=stored.stored_name(),
        new=new,
        events=events.count,
        lost=events.lost,
        unfinished=events.unfinished,
        other_applications=len(events.others),
    )


class _ClosingLines:
    """The lines after the events of a notebook: the event with the pipeline's ids, and the report of lost events."""

    def __init__(self, context: Any, application: ApplicationRun, ids: PipelineIds, began_ms: int):
        self._context = context
        self._application = application
        self._ids = ids
        self._start = iso_time(began_ms * 1000)

    def lines(self, events: ApplicationEvents) -> Iterator[bytes]:
        """Yield the event with the ids and, if events were lost, the report. Each call yields the same lines."""
        yield _line(stamp_event(self._application, self._ids, "COMPLETE", iso_time(events.newest_us) or ""))
        if events.lost:
            report = {
                "transport": "file",
                "application": self._context.applicationId,
                "applicationName": self._context.appName,
                "namespace": self._application.namespace,
                "dropped": events.lost,
                "since": self._start,
                "until": self._start,
            }
            yield _line({"headwater": report})


class _NotebookFile:
    """The content and the name of the stored file. The name has the same form as in the OneLake transport."""

    def __init__(self, events: ApplicationEvents, closing: _ClosingLines):
        self._events = events
        self._closing = closing
        self._digest = hashlib.sha256()

    def pieces(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the content in pieces of about 1 MiB. Raises WrongSetting if the session has no events."""
        piece = bytearray()
        for line in self._all_lines(lines):
            self._digest.update(line)
            piece += line
            if len(piece) >= _PIECE:
                yield bytes(piece)
                piece.clear()
        yield bytes(piece)

    def stored_name(self) -> str:
        """Return the file's name, which contains a digest of the content. Call it after `pieces` is exhausted."""
        newest_ms = self._events.newest_us // 1000
        day = (iso_time(self._events.newest_us) or "")[:10]
        return (
            f"dt={day}/{newest_ms:013d}-{UUID(bytes=self._digest.digest()[:16])}-{self._events.count + 1}events.ndjson"
        )

    def _all_lines(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        yield from lines
        if not self._events.count:
            raise WrongSetting(
                f"The files of the file transport contain no event of this session (run {self._events.run}). Either "
                "an application that started in the same second has overwritten them, or "
                "spark.openlineage.transport.location is that of another application."
            )
        yield from self._closing.lines(self._events)


def _line(content: dict[str, Any]) -> bytes:
    return msgspec.json.encode(content) + b"\n"
