"""What stops the parser, for audit, metrics and readiness: one account for the local process and the Function App."""

from pathlib import Path

from headwater.errors import LakeUnavailable
from headwater.lake.bronze_tables import Bronze
from headwater.lake.damaged_files import damage_of
from headwater.lake.file_checksums import DamagedFile
from headwater.runtime.station_troubles import StationTrouble


class ParserTrouble:
    """Why the parser, or its work on some partitions, cannot go on."""

    def __init__(self, folder: Path, bronze: Bronze):
        """folder: of data; bronze: used by the parser's thread alone."""
        self._trouble = StationTrouble(folder, "parser")
        self._bronze = bronze
        self._looked_into: tuple[str, str | None] = "", None
        self._reasons: dict[str, str] = {}

    def begin(self, error: Exception, partition: str = "") -> str:
        """Note why the parser cannot go on, or cannot with one partition; return the reason."""
        reason = self._reasons[partition] = self._explained(error)
        self._note()
        return reason

    def end(self, partition: str = "") -> None:
        """Note that the parser goes on, or does with one partition."""
        self._reasons.pop(partition, None)
        if not self._reasons:
            self._looked_into = "", None
        self._note()

    def _note(self) -> None:
        told = [f"Partition {name}: {why}" if name else why for name, why in sorted(self._reasons.items())]
        self._trouble.report(" ".join(told) or None)

    def _explained(self, error: Exception) -> str:
        """Look into a fault of the lake once, because that reads many files."""
        if not isinstance(error, LakeUnavailable) or isinstance(error, DamagedFile):
            return str(error)
        if str(error) != self._looked_into[0]:
            self._looked_into = str(error), damage_of(self._bronze)
        found = self._looked_into[1]
        return f"{found} ({error})" if found else str(error)
