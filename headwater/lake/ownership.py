"""Whom bronze belongs to, as properties of its tables: one log, one ingest route. The same for every engine."""

from collections.abc import Mapping

from headwater.errors import WrongSetting
from headwater.events.position import Source
from headwater.tables import Table

OWNER = "headwater.owner"
EPOCH = "headwater.incarnation"
PAST = "headwater.past"

_STATISTICS = ("log", "incarnation", "partition", "sequence", "received_at", "event_time", "event_kind", "event_id")
ROUTES = {"parser": "parser/local", "function": "parser/function", "spark": "spark/stream"}
"""Ingest routes by the short names that commands take."""


def creation_properties(table: Table, owner: str, epoch: str) -> dict[str, str]:
    """Return the properties with which a table of bronze is created."""
    statistics = [name for name in table.columns if name in _STATISTICS or name.endswith("_hash")]
    return {
        "delta.dataSkippingStatsColumns": ",".join(statistics),
        "delta.logRetentionDuration": "interval 6 hours",  # nobody keeps versions, everybody positions
        OWNER: owner,
        EPOCH: epoch,
    }


def check_owner(properties: Mapping[str, str], owner: str) -> None:
    """Raise WrongSetting if another ingest route owns bronze: two would store every event twice."""
    found = properties.get(OWNER)
    if found != owner:
        route = next((name for name, each in ROUTES.items() if each == owner), "parser")
        raise WrongSetting(
            f"The lake belongs to the ingest route {found!r}, this is {owner!r}. Stop that one, then hand over with "
            f"`headwater log new-epoch --route {route}`."
        )


def check_life(properties: Mapping[str, str], source: Source, *, tail: int, watermark: int) -> None:
    """Raise WrongSetting if the lake has seen another life of this log, or more of it than the log holds."""
    expected = properties.get(EPOCH)
    if expected != source.epoch:
        raise changed(f"the lake was fed by log {expected}, this is {source.epoch}: it was deleted or replaced")
    if tail < watermark:
        raise changed(
            f"the lake holds sequence {watermark}, the log ends at {tail}: an older log was restored, "
            "or the `-wal` file beside its newest segment was deleted or cut"
        )


def changed(what: str) -> WrongSetting:
    """Say that this log does not go on where the lake is."""
    return WrongSetting(
        f"Log and lake do not belong together: {what}. Run `headwater log new-epoch` to go on with this log; "
        "events that both hold are recognised as duplicates."
    )
