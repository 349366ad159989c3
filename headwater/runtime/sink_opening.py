"""The sinks that the settings name: their file, what they keep in the lake, where their secrets come from."""

from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import WrongSetting
from headwater.runtime.folders import data_folder
from headwater.runtime.storage import lake_place
from headwater.settings import Settings

if TYPE_CHECKING:
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
