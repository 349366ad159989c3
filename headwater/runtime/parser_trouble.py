"""What stops the parser, for audit, metrics and readiness: one account for the local process and the Function App."""

from collections.abc import Callable, Mapping
from pathlib import Path

from headwater.errors import LakeUnavailable
from headwater.lake.bronze_tables import Bronze
from headwater.lake.damaged_files import damage_of
from headwater.lake.file_checksums import DamagedFile
from headwater.runtime.station_troubles import StationTrouble


def joined_reasons(reasons: Mapping[str, str]) -> str:
    """Return why partitions wait; a parser that has all of them is called by no partition."""
    return " ".join(f"Partition {name}: {why}" if name else why for name, why in sorted(reasons.items()))


class ParserTrouble:
    """Why the parser, or its work on some partitions, cannot go on."""

    def __init__(self, folder: Path, bronze: Bronze, share: Callable[[str, str | None], bool] | None = None):
        """Note nothing yet.

        folder: of data; bronze: used by the parser's thread alone; share: tells other machines why a partition waits,
        or with None that it goes on, and returns whether they can know.
        """
        self._share = share
        self._shared: dict[str, str | None] = {}
        self._trouble = StationTrouble(folder, "parser")
        self._bronze = bronze
        self._looked_into: tuple[str, str | None] = "", None
        self._reasons: dict[str, str] = {}

    def begin(self, error: Exception, partition: str = "") -> str:
        """Note why the parser cannot go on, or cannot with one partition; return the reason."""
        reason = self._reasons[partition] = self._explained(error)
        self._note(partition)
        return reason

    def end(self, partition: str = "") -> None:
        """Note that the parser goes on, or does with one partition."""
        self._reasons.pop(partition, None)
        if not self._reasons:
            self._looked_into = "", None
        self._note(partition)

    def _note(self, partition: str) -> None:
        self._trouble.report(joined_reasons(self._reasons) or None)
        reason = self._reasons.get(partition)
        if self._share and self._shared.get(partition, "") != reason and self._share(partition, reason):
            self._shared[partition] = reason

    def _explained(self, error: Exception) -> str:
        """Look into a fault of the lake once, because that reads many files."""
        if not isinstance(error, LakeUnavailable) or isinstance(error, DamagedFile):
            return str(error)
        if str(error) != self._looked_into[0]:
            self._looked_into = str(error), damage_of(self._bronze)
        found = self._looked_into[1]
        return f"{found} ({error})" if found else str(error)
