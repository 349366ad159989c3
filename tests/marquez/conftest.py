"""A shared, read-only Headwater with the shop's events and a small lake whose producers describe it well."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from headwater.api.marquez.routes import MarquezApi
from headwater.auth.authentication import Authenticator
from headwater.operations.runtime.index import open_freshness, open_search, open_view_opener
from tests.marquez.lake import EVENTS as LAKE_EVENTS
from tests.reference.world_events import at, run_event, uuid
from tests.support.data.parsing import World
from tests.support.data.shop import EVENTS as SHOP_EVENTS
from tests.support.data.shop import Asker, up


class Marquez:
    """A client that sends requests as Marquez's page and clients do."""

    def __init__(self, url: str, asker: Asker) -> None:
        self.url = url
        self.asker = asker
        self._settled = 0
        self.client = httpx.Client(base_url=f"{url}/api/v1", timeout=60)

    def get(self, path: str, *names: str, status: int = 200, **query: Any) -> Any:
        """Return an answer. Each `{}` of the path is replaced with a percent-encoded name."""
        answer = self.client.get(path.format(*map(encoded, names)), params=query)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    def send(self, method: str, path: str, *names: str, status: int, **more: Any) -> Any:
        """Change something and return the answer. Waits if answers do not include the change yet."""
        answer = self.client.request(method, path.format(*map(encoded, names)), **more)
        assert answer.status_code == status, (answer.status_code, answer.text)
        if "headwater-index" in answer.headers:
            self.settle()
        return answer.json()

    def settle(self) -> None:
        """Wait until all posted events are readable."""
        self._settled += 1
        self.asker.post(run_event("COMPLETE", at(1), uuid(900_000 + self._settled), ("settled", "settled")))


@contextmanager
def answering(world: World) -> Iterator[TestClient]:
    """Answer requests in this process from the events in the world's log."""
    parser = world.parser()
    while parser.commit_next():
        pass
    views, things = open_view_opener(world.settings, world.folder), open_search(world.settings, world.folder)
    freshness = open_freshness(world.settings, world.folder, lambda: ())
    api = MarquezApi(views, things, world.bronze, Authenticator(()), freshness, record=lambda *_: None, writing=None)
    with TestClient(Starlette(routes=api.routes())) as client:
        yield client
    views.close()


def encoded(name: str) -> str:
    return quote(name, safe="")


@contextmanager
def started(folder: Path) -> Iterator[Marquez]:
    """Start Headwater with the events of the shop and the lake."""
    with up(folder / "data") as running, Asker(running.url) as asker:
        asker.post(*SHOP_EVENTS, *LAKE_EVENTS)
        asked = Marquez(running.url, asker)
        yield asked
        asked.client.close()


@pytest.fixture(scope="session")
def marquez_to_read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marquez]:
    with started(tmp_path_factory.mktemp("marquez")) as marquez:
        yield marquez
