"""API and dashboard over one index: what a laptop and the Function App share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import Route

from headwater.api.app import ReadApi, ReadFrom, SendAgain
from headwater.api.live_feed import Live
from headwater.api.marquez.marquez_routes import MarquezApi
from headwater.api.marquez.marquez_writing import Writing
from headwater.api.sign_in_routes import SignInRoutes
from headwater.eventlog import Readers
from headwater.identity.key_desk import KeyDesk
from headwater.index.reading.index_search import Search
from headwater.index.reading.view_opener import ViewOpener
from headwater.lake.admin_log import open_admin_log
from headwater.runtime.identities import open_access, open_recorder, open_sign_in
from headwater.runtime.indexes import open_freshness, open_index_home, open_rules
from headwater.runtime.storage import lake_place, open_bronze
from headwater.settings import Settings, contracts_path, settings_shown
from headwater.web.pages import Web

if TYPE_CHECKING:
    from headwater.sinks.operating.sink_desk import SinkDesk


class ReadSide:
    """What one process answers from. Opens nothing that may not be there yet."""

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        readers: Callable[[], Readers],
        troubles: Callable[[], Mapping[str, str]] | None = None,
    ):
        """Open what reads.

        readers: opens the log for reading; called for each that asks on a thread of its own; troubles: what stops
        stations, else those of this machine.
        """
        self.access = open_access(settings, folder)
        self._sign_in = open_sign_in(settings, self.access)
        self._keys = KeyDesk(self.access.file, settings.keys, settings.oidc_issuer) if self.access.file else None
        self._record = open_recorder(settings)
        self._admin_log = open_admin_log(*lake_place(settings))
        self.bronze = open_bronze(settings)
        self.readers = readers()
        self.freshness = open_freshness(settings, folder, readers(), troubles)
        self._home = open_index_home(folder)
        self._open_views = ViewOpener(self._home, open_rules(settings))
        self._search = Search(self._home, open_rules(settings))
        self._shown = settings_shown(settings)
        self._contracts = contracts_path(settings)

    def live(self) -> Live:
        """Return what streams to listeners, for a process that alone serves them."""
        return Live(self._home)

    def app(
        self,
        send_again: SendAgain | None = None,
        live: Live | None = None,
        writing: Writing | None = None,
        sinks: "SinkDesk | None" = None,
        more: Sequence[Route] = (),
    ) -> Starlette:
        """Build the application; it changes nothing without send_again, writing, sinks. more: its first routes."""
        open_views, search, freshness = self._open_views, self._search, self.freshness
        answers_from = ReadFrom(
            self.readers,
            self.bronze,
            self.access,
            open_views,
            search,
            freshness,
            self._shown,
            self._record,
            self._admin_log,
            self._keys,
            self._contracts,
            send_again,
            live,
            sinks,
        )
        app = ReadApi(answers_from).app()
        marquez = MarquezApi(
            open_views, search, self.bronze, self.access, freshness, record=self._record, writing=writing
        )
        app.routes.extend(
            [*marquez.routes(), *more, *SignInRoutes(self.access, self._sign_in).routes(), *Web().routes()]
        )
        return app
