"""Azure Functions: a module with thin triggers for each service, named like the service."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from headwater.intake.event_log import Readers
from headwater.operations.runtime.event_log import reader_opener
from headwater.operations.settings import Settings, load_settings

OPEN_TO_OTHERS = {"receiver", "api"}
READER_GROUP = "$Default"
"""Consumer group of the app's own readers. In the group of the trigger, only the Functions host may read."""


def app_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of this app from its environment variables (application settings). There is no settings file.

    The data folder is on the disk of the instance, so its content may be lost. Claims and lake are in storage.
    Raises WrongSetting if a setting is invalid, or if the app accepts requests without any keys.
    """
    disk = {"HEADWATER_DATA": str(Path(tempfile.gettempdir()) / "headwater")}
    settings, _ = load_settings({}, environment={**disk, **environment})
    if OPEN_TO_OTHERS & set(settings.triggers):
        settings, _ = load_settings({"host": "0.0.0.0"}, environment={**disk, **environment})  # noqa: S104
    return settings


def open_readers(settings: Settings, folder: Path) -> Readers:
    """Return a function that opens log readers in a consumer group other than the one of the trigger."""
    return reader_opener(settings.model_copy(update={"hub_consumer_group": READER_GROUP}), folder)
