"""Read one application's events from the files that OpenLineage's file transport wrote on the driver's disk.

Its files are found by the beginning of their names and read by content: names are no proof. Where a name is made of the
time to the second, two applications that begin in one second write into one file, and may overwrite each other.
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
    runId: str  # noqa: N815 - the name on the wire


class _ParentFacet(msgspec.Struct):
    run: _Id


class _Above(msgspec.Struct):
    parent: _ParentFacet | None = None


class _RunHead(msgspec.Struct):
    runId: str  # noqa: N815
    facets: _Above = msgspec.field(default_factory=_Above)


class _EventHead(msgspec.Struct):
    eventTime: str  # noqa: N815
    run: _RunHead
    eventType: str = ""  # noqa: N815


_head = msgspec.json.Decoder(_EventHead)


class ApplicationEvents:
    """The events of one application, and what else was met while they were read."""

    def __init__(self, run: str):
        """run: the application's run, which is that of its first and last event and the parent of all others."""
        self.run = run
        self.count = 0
        self.newest_us = 0
        self._torn = 0
        self._begun = False
        self.others: set[str] = set()
        self._open: dict[str, bool] = {}

    @property
    def lost(self) -> int:
        """Return how many lines were lost, as far as that shows: those in shreds, and the application's first."""
        return self._torn + (not self._begun)

    @property
    def unfinished(self) -> int:
        """Return how many runs below the application's began and never ended."""
        return sum(is_open for run, is_open in self._open.items() if run != self.run)

    def lines_of(self, files: Sequence[Path]) -> Iterator[bytes]:
        """Yield its events, a line each, in the files' order."""
        for path in files:
            with path.open("rb") as file:
                for line in file:
                    if line.strip() and self._is_ours(line):
                        yield line if line.endswith(b"\n") else line + b"\n"

    def _is_ours(self, line: bytes) -> bool:
        try:
            head = _head.decode(line)
        except msgspec.ValidationError:
            return False  # whole, and no event of a run
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            self._torn += 1
            return False
        above = head.run.facets.parent
        application = above.run.runId if above else head.run.runId
        if self.run not in (application, head.run.runId):
            self.others.add(application)
            return False
        self._note(head)
        return True

    def _note(self, head: _EventHead) -> None:
        self.count += 1
        self.newest_us = max(self.newest_us, parse_time(head.eventTime)[0] or 0)
        if head.eventType == "START":
            self._begun |= head.run.runId == self.run
            self._open.setdefault(head.run.runId, True)
        elif head.eventType in _ENDS:
            self._open[head.run.runId] = False


def transport_files(conf: Mapping[str, str], since_s: float) -> Sequence[Path]:
    """Return the files of a session's file transport that were written to since it began, in seconds since 1970.

    conf: Spark's properties; the transport may be one of a `composite`. A file is taken whose name begins as that in
    `location` does, whatever was put behind it. Raises WrongSetting where there is no such transport or file.
    """
    location = next(
        (conf.get(f"{key.removesuffix('type')}location") for key, value in conf.items() if _is_file(key, value)), None
    )
    if not location:
        raise WrongSetting(
            "This session has no file transport. Set spark.openlineage.transport.type to file, and its location, in "
            "the environment or the cluster; lineage of other transports is on its way already."
        )
    named = Path(location)
    folder, beginning = (named, "") if named.is_dir() else (named.parent, named.stem)
    found = [path for path in folder.glob(f"{beginning}*") if path.is_file()] if folder.is_dir() else []
    written = [path for path in found if path.stat().st_mtime >= since_s - _CLOCK_S]
    if not written:
        raise WrongSetting(f"There is no file {named}* of this session. Is it a path on the driver, and written to?")
    return sorted(written)


def _is_file(key: str, value: str) -> bool:
    return key.startswith(TRANSPORT) and key.endswith("type") and value == "file"
