"""One running Headwater with the shop's events and a small lake that producers describe well, to be read only."""

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
    """A client of the API as Marquez's page and its clients ask it."""

    def __init__(self, url: str, asker: Asker) -> None:
        self.url = url
        self.asker = asker
        self._settled = 0
        self.client = httpx.Client(base_url=f"{url}/api/v1", timeout=60)

    def get(self, path: str, *names: str, status: int = 200, **query: Any) -> Any:
        """Return an answer; each `{}` of the path is a name, percent-encoded as clients do."""
        answer = self.client.get(path.format(*map(encoded, names)), params=query)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    def send(self, method: str, path: str, *names: str, status: int, **more: Any) -> Any:
        """Change something; return the answer. What questions do not see yet, on a busy machine, is waited for."""
        answer = self.client.request(method, path.format(*map(encoded, names)), **more)
        assert answer.status_code == status, (answer.status_code, answer.text)
        if "headwater-index" in answer.headers:
            self.settle()
        return answer.json()

    def settle(self) -> None:
        """Wait until everything that was posted can be read."""
        self._settled += 1
        self.asker.post(run_event("COMPLETE", at(1), uuid(900_000 + self._settled), ("settled", "settled")))


@contextmanager
def answering(world: World) -> Iterator[TestClient]:
    """Let the API answer in this process, of what the world's log has."""
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
    """Start a Headwater with the shop's events and the lake's."""
    with up(folder / "data") as running, Asker(running.url) as asker:
        asker.post(*SHOP_EVENTS, *LAKE_EVENTS)
        asked = Marquez(running.url, asker)
        yield asked
        asked.client.close()


@pytest.fixture(scope="session")
def marquez_to_read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marquez]:
    with started(tmp_path_factory.mktemp("marquez")) as marquez:
        yield marquez
