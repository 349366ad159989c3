"""Bronze belongs to one log and one ingest route. Both are table properties, so that every engine can check them."""

from collections.abc import Mapping

from headwater.common.errors import WrongSetting
from headwater.events.position import Source
from headwater.tables import Table

OWNER = "headwater.owner"
EPOCH = "headwater.incarnation"
PAST = "headwater.past"

_STATISTICS = ("log", "incarnation", "partition", "sequence", "received_at", "event_time", "event_kind", "event_id")
ROUTES = {"parser": "parser/local", "function": "parser/function", "spark": "spark/stream"}
"""The owner in the table properties, by the name of the ingest route in commands."""


def creation_properties(table: Table, owner: str, epoch: str) -> dict[str, str]:
    """Return the properties of a new bronze table with an owner (`parser/local`, …) and an expected log epoch."""
    statistics = [name for name in table.columns if name in _STATISTICS or name.endswith("_hash")]
    return {
        "delta.dataSkippingStatsColumns": ",".join(statistics),
        "delta.logRetentionDuration": "interval 6 hours",  # consumers keep positions, not versions
        OWNER: owner,
        EPOCH: epoch,
    }


def check_owner(properties: Mapping[str, str], owner: str) -> None:
    """Raise WrongSetting if another ingest route owns bronze. Two routes would store every event twice."""
    found = properties.get(OWNER)
    if found != owner:
        route = next((name for name, each in ROUTES.items() if each == owner), "parser")
        raise WrongSetting(
            f"The lake belongs to the ingest route {found!r}; this is {owner!r}. Stop the other route, then switch "
            f"with `headwater log new-epoch --route {route}`."
        )


def check_epoch(properties: Mapping[str, str], source: Source, *, tail: int, watermark: int) -> None:
    """Raise WrongSetting if the lake expects another epoch of the log, or has later records than the log.

    tail: the newest sequence of the partition in the log. watermark: the newest sequence of the partition in the lake.
    """
    expected = properties.get(EPOCH)
    if expected != source.epoch:
        raise changed_log_error(
            f"log {expected} fed the lake, but this is log {source.epoch}: the log was deleted or replaced"
        )
    if tail < watermark:
        raise changed_log_error(
            f"the lake has sequence {watermark}, but the log ends at {tail}: an older log was restored, "
            "or the `-wal` file of its newest segment was deleted or truncated"
        )


def changed_log_error(problem: str) -> WrongSetting:
    """Return the error for a log that does not belong to the lake. problem: the part of the message with the reason."""
    return WrongSetting(
        f"Log and lake do not belong together: {problem}. To continue with this log, run `headwater log new-epoch`; "
        "the parser recognises events that are in both as duplicates."
    )
