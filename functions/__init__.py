"""Azure Functions: a thin trigger in front of each station, named like it."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from headwater.eventlog import Readers
from headwater.runtime.logs import log_readers
from headwater.settings import Settings, load_settings

OPEN_TO_OTHERS = {"receiver", "api"}
BESIDE_THE_TRIGGER = "$Default"
"""Consumer group of what the app reads from the hub itself: in the trigger's own the host's receivers are exclusive."""


def app_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of this app: its application settings are environment variables, there is no file.

    The data folder is the instance's own disk, and holds nothing that may not be lost: claims and lake lie in storage.
    Raises WrongSetting, also where requests could come in and no keys are set.
    """
    disk = {"HEADWATER_DATA": str(Path(tempfile.gettempdir()) / "headwater")}
    settings, _ = load_settings({}, environment={**disk, **environment})
    if OPEN_TO_OTHERS & set(settings.triggers):
        settings, _ = load_settings({"host": "0.0.0.0"}, environment={**disk, **environment})  # noqa: S104
    return settings


def open_readers(settings: Settings, folder: Path) -> Readers:
    """Open the log for reading beside the trigger."""
    return log_readers(settings.model_copy(update={"hub_consumer_group": BESIDE_THE_TRIGGER}), folder)
