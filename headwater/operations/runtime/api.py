"""Serve API and dashboard from one index; shared by `headwater up` and the Function App."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import Route

from headwater.api.app import ApiSources, ReadApi, ResendEvents
from headwater.api.live_feed import LiveFeed
from headwater.api.marquez.changes import ChangeBackend
from headwater.api.marquez.routes import MarquezApi
from headwater.api.sign_in_routes import SignInRoutes
from headwater.api.web.pages import Web
from headwater.auth.keys import KeyManager
from headwater.index.reading.search import Search
from headwater.index.reading.view_opener import ViewOpener
from headwater.intake.event_log import Readers
from headwater.lake.admin_log import open_admin_log
from headwater.operations.runtime.auth import open_admin_recorder, open_authenticator, open_sign_in
from headwater.operations.runtime.index import open_freshness, open_index_home, open_rules
from headwater.operations.runtime.storage import lake_root_and_options, open_bronze
from headwater.operations.settings import Settings, contracts_path, settings_for_display

if TYPE_CHECKING:
    from headwater.sinks.control.service import SinkService


class ApiResources:
    """The log, lake and index from which one process answers questions. They need not exist yet."""

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        readers: Callable[[], Readers],
        troubles: Callable[[], Mapping[str, str]] | None = None,
    ):
        """Open the resources.

        readers: returns new log readers; called once for each thread that needs its own. troubles: returns the reasons
        of stopped services by service; by default, of the services of this machine.
        """
        self.access = open_authenticator(settings, folder)
        self._sign_in = open_sign_in(settings, self.access)
        self._keys = KeyManager(self.access.file, settings.keys, settings.oidc_issuer) if self.access.file else None
        self._record = open_admin_recorder(settings)
        self._admin_log = open_admin_log(*lake_root_and_options(settings))
        self.bronze = open_bronze(settings)
        self.readers = readers()
        self.freshness = open_freshness(settings, folder, readers(), troubles)
        self._home = open_index_home(folder)
        self._open_views = ViewOpener(self._home, open_rules(settings))
        self._search = Search(self._home, open_rules(settings))
        self._shown = settings_for_display(settings)
        self._contracts = contracts_path(settings)
        self._notice = settings.notice

    def live_feed(self) -> LiveFeed:
        """Return the feed of live events. Only one process may serve its clients."""
        return LiveFeed(self._home)

    def build_app(
        self,
        send_again: ResendEvents | None = None,
        live: LiveFeed | None = None,
        writing: ChangeBackend | None = None,
        sinks: "SinkService | None" = None,
        more: Sequence[Route] = (),
    ) -> Starlette:
        """Build the ASGI application. Without send_again, writing and sinks, the application is read-only.

        send_again: sends rejected events again. writing: accepts changes through Marquez's API. more: routes to match
        before all others.
        """
        open_views, search, freshness = self._open_views, self._search, self.freshness
        answers_from = ApiSources(
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
        app = ReadApi(answers_from).build_app()
        marquez = MarquezApi(
            open_views, search, self.bronze, self.access, freshness, record=self._record, writing=writing
        )
        sign_in = SignInRoutes(self.access, self._sign_in, self._notice)
        app.routes.extend([*marquez.routes(), *more, *sign_in.routes(), *Web().routes()])
        return app
