"""Open the snapshots of the index in a shared lake; a lake in the data folder has its index next to it."""

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.common.errors import HeadwaterError
from headwater.operations.runtime.station_troubles import StationTrouble
from headwater.operations.runtime.storage import lake_place, open_bronze
from headwater.operations.settings import Settings

if TYPE_CHECKING:
    from headwater.index.snapshots.manager import IndexSnapshots

log = logging.getLogger(__name__)


def open_snapshots(settings: Settings, folder: Path) -> "IndexSnapshots | None":
    """Return the snapshots of the lake; None if `lake` is not set, or its options work only for tables."""
    if not settings.lake:
        return None
    from headwater.index.home import IndexHome
    from headwater.index.snapshots.manager import IndexSnapshots
    from headwater.lake.object_store import ObjectStore

    trouble = StationTrouble(folder, "snapshot")
    try:
        store = ObjectStore(*lake_place(settings))
    except HeadwaterError as error:
        log.warning("Snapshots of the index are not used: %s", error)
        trouble.begin(str(error))
        return None
    return IndexSnapshots(store, IndexHome(folder / "index"), partial(open_bronze, settings), trouble.report)
