"""Record why the parser has stopped, for audit, metrics and readiness, locally and in the Function App.

This module imports the lake when the process starts. A process that has reached its limit of open files cannot import
modules any more, but still has to record this reason.
"""

from collections.abc import Callable
from pathlib import Path

from headwater.common.errors import LakeUnavailable
from headwater.lake.bronze_tables import Bronze
from headwater.lake.damaged_files import find_damage
from headwater.lake.file_checksums import DamagedFile
from headwater.operations.runtime.troubles import ServiceTrouble, join_reasons


class ParserTrouble:
    """Records the reasons why the whole parser, or some of its partitions, have stopped."""

    def __init__(self, folder: Path, bronze: Bronze, share: Callable[[str, str | None], bool] | None = None):
        """Prepare a record without a reason.

        folder: data folder. bronze: used only by the parser's thread. share: publishes the reason of a partition to
        other machines, with None if the partition continues, and returns whether that succeeded.
        """
        self._share = share
        self._shared: dict[str, str | None] = {}
        self._trouble = ServiceTrouble(folder, "parser")
        self._bronze = bronze
        self._looked_into: tuple[str, str | None] = "", None
        self._reasons: dict[str, str] = {}

    def record_trouble(self, error: Exception, partition: str = "") -> str:
        """Record why a partition has stopped, or with the partition "" the whole parser. Returns the reason."""
        reason = self._reasons[partition] = self._explain_error(error)
        self._publish_reason(partition)
        return reason

    def record_recovery(self, partition: str = "") -> None:
        """Record that a partition continues, or with the partition "" the whole parser."""
        self._reasons.pop(partition, None)
        if not self._reasons:
            self._looked_into = "", None
        self._publish_reason(partition)

    def _publish_reason(self, partition: str) -> None:
        self._trouble.record_or_clear(join_reasons(self._reasons) or None)
        reason = self._reasons.get(partition)
        if self._share and self._shared.get(partition, "") != reason and self._share(partition, reason):
            self._shared[partition] = reason

    def _explain_error(self, error: Exception) -> str:
        """Return the text of an error, and for an error of the lake also the damaged file that causes it.

        The files are searched only once for the same error, because this reads many files.
        """
        if not isinstance(error, LakeUnavailable) or isinstance(error, DamagedFile):
            return str(error)
        if str(error) != self._looked_into[0]:
            self._looked_into = str(error), find_damage(self._bronze)
        found = self._looked_into[1]
        return f"{found} ({error})" if found else str(error)
