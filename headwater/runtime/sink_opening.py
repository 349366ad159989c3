"""The sinks that the settings name: their file, what they keep in the lake, where their secrets come from."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.errors import WrongSetting
from headwater.runtime.folders import data_folder, folder_lock
from headwater.runtime.storage import lake_place, open_bronze
from headwater.settings import Settings

if TYPE_CHECKING:
    from headwater.sinks.sink_desk import SinkDesk
    from headwater.sinks.sink_ledger import Ledger
    from headwater.sinks.sink_secrets import Secrets


def sinks_path(settings: Settings) -> Path:
    """Return the file of the sinks, there or not; raises WrongSetting if one that was named is not there."""
    if settings.sinks is None:
        return data_folder(settings) / "sinks.yml"
    path = settings.sinks.expanduser().resolve()
    if not path.is_file():
        raise WrongSetting(f"No file {path}, which the setting `sinks` names. Create it or correct the setting.")
    return path


def open_ledger(settings: Settings) -> "Ledger":
    """Open what sinks keep in the lake."""
    from headwater.sinks.sink_ledger import Ledger

    lake, options = lake_place(settings)
    return Ledger(f"{lake}/sinks", options)


def open_secrets(settings: Settings) -> "Secrets":
    """Open where secrets lie: the environment, and a key vault as this machine's identity."""
    from headwater.sinks.sink_secrets import Secrets, entra_token

    return Secrets(entra_token(settings.identity_client_id))


def open_sink_desk(settings: Settings, folder: Path) -> "SinkDesk":
    """Return where the sinks of a data folder are asked about and ordered."""
    from headwater.sinks.sink_desk import SinkDesk

    return SinkDesk(
        partial(sinks_path, settings), partial(open_bronze, settings), partial(open_ledger, settings),
        partial(open_secrets, settings), partial(_status, folder),
    )  # fmt: skip


def _status(folder: Path) -> dict[str, Any]:
    """Return what the process `sinks` says of itself, nothing where none runs or it has not said anything yet."""
    try:
        with folder_lock(folder, "sinks", wait_s=0):
            return {}
    except WrongSetting:
        return _read(folder / "run" / "sinks.json")


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return found
