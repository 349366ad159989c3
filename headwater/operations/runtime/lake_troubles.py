"""Share why partitions wait between Function App instances, as files next to the tables of an Azure lake."""

import logging
import threading
import time
from collections.abc import Mapping

from headwater.operations.runtime.lake_file import open_blob, open_container
from headwater.operations.runtime.parser_trouble import join_reasons
from headwater.operations.runtime.storage import lake_place
from headwater.operations.settings import Settings

log = logging.getLogger(__name__)

_LOOK_S = 10.0


def is_shared(settings: Settings) -> bool:
    """Return whether the lake's storage supports these files."""
    return (settings.lake or "").startswith("abfss://")


class LakeTroubles:
    """One small file per waiting partition; if the storage does not respond, the next call tries again."""

    def __init__(self, settings: Settings) -> None:
        lake, options = lake_place(settings)
        self._folder = f"{lake}/run/parser"
        self._given = options, settings.identity_client_id
        self._one_at_a_time = threading.Lock()
        self._looked_at = -_LOOK_S
        self._found: Mapping[str, str] = {}

    def note(self, partition: str, reason: str | None) -> bool:
        """Write why a partition waits, or delete the file if None; returns whether that succeeded."""
        from azure.core.exceptions import AzureError, ResourceNotFoundError

        try:
            with open_blob(f"{self._folder}/{partition}", *self._given) as blob:
                if reason is None:
                    blob.delete_blob()
                else:
                    blob.upload_blob(reason.encode("utf-8", "replace"), overwrite=True)
        except ResourceNotFoundError:
            return reason is None
        except AzureError as error:
            log.debug("Could not write the note of partition %s: %s", partition, error)
            return False
        return True

    def read(self) -> Mapping[str, str]:
        """Return why the parser has stopped, like `station_troubles`; reads at most every 10 s."""
        with self._one_at_a_time:
            if time.monotonic() >= self._looked_at + _LOOK_S:
                self._looked_at = time.monotonic()
                reasons = self._read()
                self._found = {"parser": join_reasons(reasons)} if reasons else {}
            return self._found

    def _read(self) -> dict[str, str]:
        from azure.core.exceptions import AzureError

        found: dict[str, str] = {}
        try:
            with open_container(self._folder, *self._given) as container:
                start = self._folder.partition("://")[2].partition("/")[2] + "/"
                for name in container.list_blob_names(name_starts_with=start):
                    text = container.download_blob(name).readall()
                    found[name.removeprefix(start)] = text.decode("utf-8", "replace")
        except AzureError as error:
            log.debug("Could not read the notes of partitions: %s", error)
        return found
