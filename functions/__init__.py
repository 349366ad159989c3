"""Azure Functions: a thin trigger in front of each station, named like it."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from headwater.settings import Settings, load_settings

OPEN_TO_OTHERS = {"receiver", "api"}


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
