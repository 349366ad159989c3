"""Azure Functions: a thin trigger for each service, with the same name."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from headwater.intake.event_log import Readers
from headwater.operations.runtime.event_log import reader_opener
from headwater.operations.settings import Settings, load_settings

OPEN_TO_OTHERS = {"receiver", "api"}
READER_GROUP = "$Default"
"""Consumer group of the app's own readers: in the trigger's group the host's receivers have exclusive access."""


def app_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of this app from its environment variables (application settings); there is no file.

    The data folder is on the instance's own disk and contains no data that must last: claims and lake are in storage.
    Raises WrongSetting, also if the app accepts requests but no keys are set.
    """
    disk = {"HEADWATER_DATA": str(Path(tempfile.gettempdir()) / "headwater")}
    settings, _ = load_settings({}, environment={**disk, **environment})
    if OPEN_TO_OTHERS & set(settings.triggers):
        settings, _ = load_settings({"host": "0.0.0.0"}, environment={**disk, **environment})  # noqa: S104
    return settings


def open_readers(settings: Settings, folder: Path) -> Readers:
    """Open the log for reading independently of the trigger."""
    return reader_opener(settings.model_copy(update={"hub_consumer_group": READER_GROUP}), folder)
