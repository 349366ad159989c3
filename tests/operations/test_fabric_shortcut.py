"""`headwater fabric shortcut` against a loopback server in place of Fabric, with a lake in Azurite."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from headwater.common.errors import HeadwaterError, Retry, WrongSetting
from headwater.operations.fabric.client import FabricClient as Client
from headwater.operations.fabric.client import shortcut_url
from headwater.operations.fabric.shortcuts import parse_lake_address
from tests.support.commands import commanded
from tests.support.servers.azurite import ACCOUNT, KEY, Storage

pytestmark = pytest.mark.slow

WORKSPACE, LAKEHOUSE, CONNECTION = (f"5f7c0f2e-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
IDS = ["--workspace", WORKSPACE, "--lakehouse", LAKEHOUSE, "--connection", CONNECTION]
LOCATION = f"https://{ACCOUNT}.dfs.core.windows.net"
TABLES = {
    "silver": ["runs", "run_datasets", "datasets", "fields", "jobs", "facets", "bindings"],
    "gold": [
        "column_edges",
        "table_edges",
        "edge_runs",
        "masking_surface",
        "unused_columns",
        "run_health",
        "hourly_stats",
    ],
}


class Fabric(ThreadingHTTPServer):
    """Issues tokens like an app's identity endpoint and accepts shortcuts. `refuse` makes it answer differently."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.posted: list[tuple[str, dict[str, list[str]], str | None, Any]] = []
        self.scopes: list[str] = []
        self.refuse: tuple[int, dict[str, str], dict[str, str]] | None = None

    def run(self, lake: dict[str, Any], folder: Path, *more: str) -> Any:
        environment = {
            "IDENTITY_ENDPOINT": f"{self.url}/token", "IDENTITY_HEADER": "header",
            "HEADWATER_LAKE": lake["lake"], "HEADWATER_LAKE_OPTIONS": json.dumps(lake["lake_options"]),
        }  # fmt: skip
        options = [*IDS, "--api", self.url, "--data", str(folder / "data"), *more]
        return commanded("fabric", "shortcut", *options, environment=environment, cwd=folder)


class _Handler(BaseHTTPRequestHandler):
    server: Fabric

    def do_GET(self) -> None:
        self.server.scopes += parse_qs(urlsplit(self.path).query)["resource"]
        self._answer(200, {"access_token": "the-token", "expires_on": "4000000000", "resource": "r"}, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        url = urlsplit(self.path)
        self.server.posted.append((url.path, parse_qs(url.query), self.headers["authorization"], body))
        self._answer(*(self.server.refuse or (201, body, {})))

    def _answer(self, status: int, body: dict[str, str], headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Do not log requests."""


@pytest.fixture
def fabric() -> Iterator[Fabric]:
    with Fabric() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def lake(storage: Storage) -> dict[str, Any]:
    """Create a lake with active generations of silver and gold."""
    found = storage.lake(account_key=KEY)
    switch(found, "silver", "g1")
    switch(found, "gold", "g2")
    return found


def switch(lake: dict[str, Any], layer: str, generation: str) -> None:
    row = {"layer": [layer], "generation": [generation], "rules_hash": ["r"]}
    address = f"{lake['lake']}/{layer}/generations"
    write_deltalake(address, pa.table(row), mode="overwrite", storage_options=lake["lake_options"])


def container(lake: dict[str, Any]) -> str:
    found: str = lake["lake"].removeprefix("abfss://").partition("@")[0]
    return found


def expected(lake: dict[str, Any], silver: str, gold: str, tables: str = "Tables") -> list[dict[str, Any]]:
    """Return the request bodies in the form of the documentation of Create Shortcut."""
    places = [("Files", "headwater", ""), (tables, "bronze_events", "/bronze/events")]
    for layer, generation in (("silver", silver), ("gold", gold)):
        places += [(tables, f"{layer}_{name}", f"/{layer}/{generation}/{name}") for name in TABLES[layer]]
    root = f"/{container(lake)}/a/lake"
    return [
        {"path": path, "name": name, "target": {"adlsGen2": {
            "location": LOCATION, "subpath": root + place, "connectionId": CONNECTION}}}
        for path, name, place in places
    ]  # fmt: skip


def by_name(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(bodies, key=lambda body: body["name"])


def test_shortcuts_are_posted(fabric: Fabric, lake: dict[str, Any], tmp_path: Path) -> None:
    done = fabric.run(lake, tmp_path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert by_name([body for *_, body in fabric.posted]) == by_name(expected(lake, "g1", "g2"))
    assert {json.dumps(posted[:3]) for posted in fabric.posted} == {json.dumps((
        f"/v1/workspaces/{WORKSPACE}/items/{LAKEHOUSE}/shortcuts", {"shortcutConflictPolicy": ["CreateOrOverwrite"]},
        "Bearer the-token",
    ))}  # fmt: skip
    assert fabric.scopes == ["https://api.fabric.microsoft.com"]
    items = json.loads(done.stdout)["items"]
    assert [each["subpath"] for each in items] == [body["target"]["adlsGen2"]["subpath"] for *_, body in fabric.posted]


def test_a_dry_run_prints_the_requests_of_what_was_built_anew(
    fabric: Fabric, lake: dict[str, Any], tmp_path: Path
) -> None:
    switch(lake, "gold", "g3")
    done = fabric.run(lake, tmp_path, "--schema", "lineage", "--dry-run")
    switch(lake, "gold", "g2")
    url = f"{fabric.url}/v1/workspaces/{WORKSPACE}/items/{LAKEHOUSE}/shortcuts?shortcutConflictPolicy=CreateOrOverwrite"
    requests = [request.split("\n") for request in done.stdout.removesuffix("\n\n").split("\n\n")]
    assert {line for line, _ in requests} == {f"POST {url}"}
    assert by_name([json.loads(body) for _, body in requests]) == by_name(expected(lake, "g1", "g3", "Tables/lineage"))
    assert (fabric.posted, fabric.scopes) == ([], [])


def test_what_is_not_built_yet_is_left_out_and_said(fabric: Fabric, storage: Storage, tmp_path: Path) -> None:
    done = fabric.run(storage.lake(account_key=KEY), tmp_path, "--dry-run", "--json")
    items = json.loads(done.stdout)["items"]
    assert [item["body"]["name"] for item in items] == ["headwater", "bronze_events"]
    assert [line.split(":")[1].split()[:4] for line in done.stderr.splitlines()] == [
        [layer, "does", "not", "exist"] for layer in ("silver", "gold")
    ]


def test_a_failing_command_is_one_line(fabric: Fabric, lake: dict[str, Any], tmp_path: Path) -> None:
    fabric.refuse = (403, {"errorCode": "InsufficientPrivileges", "message": "No."}, {})
    fails(fabric.run(lake, tmp_path), "403", "InsufficientPrivileges", "Contributor of the workspace")
    assert len(fabric.posted) == 1
    environment = {
        "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential", "HEADWATER_LAKE": lake["lake"],
        "HEADWATER_LAKE_OPTIONS": json.dumps(lake["lake_options"]),
    }  # fmt: skip
    options = [*IDS, "--api", fabric.url, "--data", str(tmp_path / "data")]
    fails(commanded("fabric", "shortcut", *options, environment=environment, cwd=tmp_path), "Sign in with `az login`")
    assert len(fabric.posted) == 1


def fails(done: Any, *words: str) -> None:
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert all(word in line for word in words), line
    assert "the-token" not in line


FAULTS = [
    (400, WrongSetting, "(InvalidTarget: The connection is of another account). Check the ids and the connection"),
    (401, WrongSetting, "az login"),
    (403, WrongSetting, "allow service principals"),
    (404, WrongSetting, "address of the lakehouse"),
    (429, Retry, "again in 17 seconds"),
    (503, Retry, "again in a minute"),
]


@pytest.mark.parametrize(("status", "kind", "words"), FAULTS)
def test_every_refusal_has_its_cause_and_its_fix(
    fabric: Fabric, status: int, kind: type[Exception], words: str
) -> None:
    said = {"errorCode": "InvalidTarget", "message": "The connection\nis of another account."}
    fabric.refuse = (status, said, {"retry-after": "17"} if status == 429 else {})
    one_line(refused(fabric.url), kind, str(status), words)
    fabric.refuse = (status, {"html": "the-token"}, {})
    one_line(refused(fabric.url), kind, f"Fabric returned status {status}. ")


def test_no_token_goes_to_an_address_that_is_not_safe_and_silence_is_told() -> None:
    one_line(refused("http://fabric.example"), WrongSetting, "is not an https:// address")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        one_line(refused(f"http://127.0.0.1:{nobody.getsockname()[1]}"), Retry, "No response from Fabric")


def refused(api: str) -> Exception:
    with pytest.raises(HeadwaterError) as caught:
        Client(api, lambda _: "the-token").post(shortcut_url(api, WORKSPACE, LAKEHOUSE), {})
    return caught.value


def one_line(error: Exception, kind: type[Exception], *words: str) -> None:
    text = str(error)
    assert isinstance(error, kind)
    assert all(word in text for word in words), text
    assert "\n" not in text
    assert "the-token" not in text


def test_a_lake_on_this_machine_can_have_no_shortcut() -> None:
    with pytest.raises(WrongSetting, match="abfss://CONTAINER@ACCOUNT"):
        parse_lake_address("/home/me/lake")


@pytest.mark.parametrize("option", [["--workspace", "Sales"], ["--schema", "a b"]])
def test_an_option_that_is_none_is_told_with_its_form(option: list[str], tmp_path: Path) -> None:
    done = commanded("fabric", "shortcut", *IDS, *option, cwd=tmp_path)
    assert (done.returncode, repr(option[1]) in done.stderr) == (2, True), done.stderr
