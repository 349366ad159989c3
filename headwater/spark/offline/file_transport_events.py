"""Read the events of one application from the files that OpenLineage's file transport wrote on the driver.

Files are selected by the beginning of their names, and the application's events are selected by their run ids. If file
names contain the start time in seconds, two applications that start in the same second write to the same file and may
overwrite each other's events.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from headwater.common.errors import WrongSetting
from headwater.events.times import parse_time

TRANSPORT = "spark.openlineage.transport."

_ENDS = ("COMPLETE", "FAIL", "ABORT")
_CLOCK_S = 60


class _Id(msgspec.Struct):
    runId: str  # noqa: N815 - name in OpenLineage


class _ParentFacet(msgspec.Struct):
    run: _Id


class _RunFacets(msgspec.Struct):
    parent: _ParentFacet | None = None


class _RunHead(msgspec.Struct):
    runId: str  # noqa: N815
    facets: _RunFacets = msgspec.field(default_factory=_RunFacets)


class _EventHead(msgspec.Struct):
    eventTime: str  # noqa: N815
    run: _RunHead
    eventType: str = ""  # noqa: N815


_head = msgspec.json.Decoder(_EventHead)


class ApplicationEvents:
    """Selects and counts the events of one application.

    count: number of selected events. newest_us: newest event time. others: run ids of other applications in the files.
    """

    def __init__(self, run: str):
        """run: id of the application's run, which is the parent of all other runs of the session."""
        self.run = run
        self.count = 0
        self.newest_us = 0
        self._incomplete_lines = 0
        self._has_start = False
        self.others: set[str] = set()
        self._open: dict[str, bool] = {}

    @property
    def lost(self) -> int:
        """The number of detectable losses: incomplete lines, and the application's START event if it is missing."""
        return self._incomplete_lines + (not self._has_start)

    @property
    def unfinished(self) -> int:
        """The number of child runs of the application that have started but not ended."""
        return sum(is_open for run, is_open in self._open.items() if run != self.run)

    def event_lines(self, files: Sequence[Path]) -> Iterator[bytes]:
        """Yield the application's events in the order of the files, one line each."""
        for path in files:
            with path.open("rb") as file:
                for line in file:
                    if line.strip() and self._belongs_to_application(line):
                        yield line if line.endswith(b"\n") else line + b"\n"

    def _belongs_to_application(self, line: bytes) -> bool:
        try:
            head = _head.decode(line)
        except msgspec.ValidationError:
            return False  # valid JSON, but not a run event
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            self._incomplete_lines += 1
            return False
        above = head.run.facets.parent
        application = above.run.runId if above else head.run.runId
        if self.run not in (application, head.run.runId):
            self.others.add(application)
            return False
        self._add(head)
        return True

    def _add(self, head: _EventHead) -> None:
        self.count += 1
        self.newest_us = max(self.newest_us, parse_time(head.eventTime)[0] or 0)
        if head.eventType == "START":
            self._has_start |= head.run.runId == self.run
            self._open.setdefault(head.run.runId, True)
        elif head.eventType in _ENDS:
            self._open[head.run.runId] = False


def transport_files(conf: Mapping[str, str], since_s: float) -> Sequence[Path]:
    """Return the files that the file transport of a session has written since the session started.

    conf: Spark's properties. They must configure a transport `file`, or a transport `composite` that contains one.
    since_s: start of the session, in seconds since 1970. The file transport may append a suffix to the configured file
    name. Raises WrongSetting if there is no file transport or no file.
    """
    location = next(
        (conf.get(f"{key.removesuffix('type')}location") for key, value in conf.items() if _is_file(key, value)), None
    )
    if not location:
        raise WrongSetting(
            "This session has no file transport. Set spark.openlineage.transport.type=file and "
            "spark.openlineage.transport.location in the environment or the cluster. For other transports, `harness` "
            "is not needed."
        )
    named = Path(location)
    folder, beginning = (named, "") if named.is_dir() else (named.parent, named.stem)
    found = [path for path in folder.glob(f"{beginning}*") if path.is_file()] if folder.is_dir() else []
    written = [path for path in found if path.stat().st_mtime >= since_s - _CLOCK_S]
    if not written:
        raise WrongSetting(
            f"No file {named}* was written since this session started. Check that "
            "spark.openlineage.transport.location is a path on the driver that Spark can write to."
        )
    return sorted(written)


def _is_file(key: str, value: str) -> bool:
    return key.startswith(TRANSPORT) and key.endswith("type") and value == "file"
