"""The end of a notebook's run: its events, out of the file transport's files, into a folder that `ingest` takes."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, TypedDict
from uuid import UUID

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headwater.common.errors import Retry, WrongSetting
from headwater.events.times import iso
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.doors.file_transport_events import ApplicationEvents, transport_files
from headwater.spark.doors.pipeline_stamp import PipelineIds, known_ids, stamp_event
from headwater.spark.doors.session_listener import ApplicationRun, SessionListener

_PIECE = 1 << 20


class Harnessed(TypedDict):
    """What became of a notebook's events."""

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
) -> Harnessed:
    """Store what OpenLineage's file transport wrote of this session, with the ids of its pipeline: the last cell.

    folder: any address that Spark writes to; the file is named by its content, so a second call stores nothing twice.
    notebook: as of `stamp`. One event is added, by which the application's run, or the notebook's, has the ids and is
    COMPLETE: the listener's own last word comes after the file was read.
    Returns `file` (below the folder), `new` (false: it was there), `events`, `lost` (lines that another application has
    overwritten, as far as that shows), `unfinished` (runs that began and did not end), `other_applications` (in the
    same files). Raises WrongSetting without the listener, its file transport or an event of this session; else Retry.
    """
    listener = SessionListener(spark)
    ids = known_ids(
        spark, pipeline=pipeline, pipeline_run=pipeline_run, activity=activity, workspace=workspace, notebook=notebook
    )
    listener.settle()
    context = spark.sparkContext
    began_ms = int(context.startTime)
    files = transport_files(dict(context.getConf().getAll()), began_ms / 1000)
    events = ApplicationEvents(listener.application().run)
    stored = _NotebookFile(events, _Ending(context, listener.application(), ids, began_ms))
    try:
        new = StoragePlace(spark, folder).create_named_last(stored.pieces(events.lines_of(files)), stored.name)
    except (OSError, Py4JJavaError) as error:
        raise Retry(f"The events cannot be stored in {folder}: {str(error)[:300]} Call this again.") from error
    return Harnessed(
        file=stored.name(),
        new=new,
        events=events.count,
        lost=events.lost,
        unfinished=events.unfinished,
        other_applications=len(events.others),
    )


class _Ending:
    """Add events after those of a notebook: the ids of its pipeline, and lost events."""

    def __init__(self, context: Any, application: ApplicationRun, ids: PipelineIds, began_ms: int):
        self._context = context
        self._application = application
        self._ids = ids
        self._began = iso(began_ms * 1000)

    def lines(self, events: ApplicationEvents) -> Iterator[bytes]:
        """Yield the event with the ids and, where events were lost, the line of losses; the same at each call."""
        yield _line(stamp_event(self._application, self._ids, "COMPLETE", iso(events.newest_us) or ""))
        if events.lost:
            told = {
                "transport": "file",
                "application": self._context.applicationId,
                "applicationName": self._context.appName,
                "namespace": self._application.namespace,
                "dropped": events.lost,
                "since": self._began,
                "until": self._began,
            }
            yield _line({"headwater": told})


class _NotebookFile:
    """The file that a notebook's events become; its name follows from what it holds, as those of the transport."""

    def __init__(self, events: ApplicationEvents, ending: _Ending):
        self._events = events
        self._ending = ending
        self._digest = hashlib.sha256()

    def pieces(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield all of it, about a megabyte at a time. Raises WrongSetting if there is no event."""
        piece = bytearray()
        for line in self._all(lines):
            self._digest.update(line)
            piece += line
            if len(piece) >= _PIECE:
                yield bytes(piece)
                piece.clear()
        yield bytes(piece)

    def name(self) -> str:
        """Return its name, once all pieces were taken: a file for each content."""
        newest_ms = self._events.newest_us // 1000
        day = (iso(self._events.newest_us) or "")[:10]
        return (
            f"dt={day}/{newest_ms:013d}-{UUID(bytes=self._digest.digest()[:16])}-{self._events.count + 1}events.ndjson"
        )

    def _all(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        yield from lines
        if not self._events.count:
            raise WrongSetting(
                f"No event of this session (run {self._events.run}) is in the files of its file transport: another "
                "application that began in the same second has overwritten them, or the location is another's."
            )
        yield from self._ending.lines(self._events)


def _line(said: dict[str, Any]) -> bytes:
    return msgspec.json.encode(said) + b"\n"
