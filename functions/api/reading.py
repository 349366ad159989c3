"""API and dashboard of one instance: its index lies on the instance's own disk, built from bronze by a thread."""

import logging
import threading
from functools import partial

from starlette.types import Receive, Scope, Send

from functions import open_readers
from headwater.errors import HeadwaterError
from headwater.runtime.folders import prepare_folder
from headwater.runtime.indexes import keep_index
from headwater.runtime.read_side import ReadSide
from headwater.settings import Settings

log = logging.getLogger(__name__)


class Instance:
    """The ASGI application; questions about lineage get 503 until the index has caught up for the first time."""

    def __init__(self, settings: Settings):
        """Open nothing that answers over the network yet."""
        self._settings = settings
        self._folder = prepare_folder(settings)
        self._app = ReadSide(settings, self._folder, partial(open_readers, settings, self._folder)).app()
        self._index: threading.Thread | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and see to it that the index is being kept."""
        if self._index is None or not self._index.is_alive():
            self._index = threading.Thread(target=self._keep_index, name="index", daemon=True)
            self._index.start()
        await self._app(scope, receive, send)

    def _keep_index(self) -> None:
        """Follow bronze as long as the process lives; of several processes of an instance one does."""
        try:
            keep_index(self._settings, self._folder, threading.Event())
        except HeadwaterError as error:
            log.critical("The index is not kept: %s", error)
