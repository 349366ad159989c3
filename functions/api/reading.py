"""API and dashboard of one instance: its index lies on the instance's own disk, built from bronze by a thread."""

import logging
import threading

from starlette.types import Receive, Scope, Send

from functions import open_readers
from headwater.access import Access
from headwater.api.app import ReadApi, ReadFrom
from headwater.api.marquez.marquez_routes import MarquezApi
from headwater.errors import HeadwaterError
from headwater.index.reading.index_search import Search
from headwater.index.reading.view_opener import ViewOpener
from headwater.local.index_process import index_lock, run
from headwater.local.wake import Wake
from headwater.runtime.folders import prepare_folder
from headwater.runtime.indexes import open_freshness, open_index_home, open_rules
from headwater.runtime.storage import open_bronze
from headwater.settings import Settings, settings_shown
from headwater.web.pages import Web

log = logging.getLogger(__name__)


class Reading:
    """The ASGI application; questions about lineage get 503 until the index has caught up for the first time."""

    def __init__(self, settings: Settings):
        """Open nothing that answers over the network yet."""
        self._settings = settings
        self._folder = prepare_folder(settings)
        readers = open_readers(settings, self._folder)
        home = open_index_home(self._folder)
        open_views, search = ViewOpener(home, open_rules(settings)), Search(home, open_rules(settings))
        bronze, access = open_bronze(settings), Access(settings.keys)
        freshness = open_freshness(settings, self._folder, open_readers(settings, self._folder))
        reading = ReadFrom(readers, bronze, access, open_views, search, freshness, settings_shown(settings))
        self._app = ReadApi(reading).app()
        self._app.routes.extend(MarquezApi(open_views, search, bronze, access, freshness, post=None).routes())
        self._app.routes.extend(Web().routes())
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
            with index_lock(self._folder, threading.Event()):
                run(self._settings, self._folder, threading.Event(), Wake.make())
        except HeadwaterError as error:
            log.critical("The index is not kept: %s", error)
