"""Why partitions wait, as files next to the tables of a lake on Azure: instances of the Function App share no disk."""

import logging
import threading
import time
from collections.abc import Mapping

from headwater.runtime.lake_file import open_blob, open_container
from headwater.runtime.parser_trouble import joined_reasons
from headwater.runtime.storage import lake_place
from headwater.settings import Settings

log = logging.getLogger(__name__)

_LOOK_S = 10.0


def is_shared(settings: Settings) -> bool:
    """Tell whether the lake is on storage that can hold these files."""
    return (settings.lake or "").startswith("abfss://")


class LakeTroubles:
    """One small file for each partition that waits; storage that does not answer is asked again at the next look."""

    def __init__(self, settings: Settings) -> None:
        """Ask for nothing yet."""
        lake, options = lake_place(settings)
        self._folder = f"{lake}/run/parser"
        self._given = options, settings.identity_client_id
        self._one_at_a_time = threading.Lock()
        self._looked_at = -_LOOK_S
        self._found: Mapping[str, str] = {}

    def note(self, partition: str, reason: str | None) -> bool:
        """Write why a partition waits, or delete that with None; return whether the storage took it."""
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
            log.debug("No note of partition %s: %s", partition, error)
            return False
        return True

    def read(self) -> Mapping[str, str]:
        """Return what stops the parser, as `station_troubles` does; looks every 10 s at most."""
        with self._one_at_a_time:
            if time.monotonic() >= self._looked_at + _LOOK_S:
                self._looked_at = time.monotonic()
                reasons = self._read()
                self._found = {"parser": joined_reasons(reasons)} if reasons else {}
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
            log.debug("Notes of partitions cannot be read: %s", error)
        return found
