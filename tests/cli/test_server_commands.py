"""Commands that ask a running Headwater: the same answers as for a folder, and every way in which they can fail."""

import gzip
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headwater.api.routes import freshness
from headwater.cli.server_client import ServerClient
from headwater.cli.watch import follow_events
from headwater.common.errors import ServerRefusal, WrongQuestion
from tests.reference.small_events import CLEAR, made, run
from tests.reference.world_events import source, uuid
from tests.support.commands import commanded
from tests.support.data.keyed import READ_KEY, WRITE_KEY
from tests.support.data.shop import COMMANDS, Asker
from tests.support.paths import ROOT
from tests.support.running import started
from tests.support.servers.loopback_certificate import loopback_certificate

pytestmark = pytest.mark.slow  # starts Headwater

IMPACT = ("impact", "landing/customers", "email")
REACHED = {
    "column": {"namespace": "n", "dataset": "d", "column": None},
    "columns": [],
    "stops": [],
    "truncated": False,
    "owners": [],
}


@pytest.mark.parametrize("arguments", [*COMMANDS, ("audit",), ("search", "email"), ("names", "s3a://lake", "x")])
def test_a_server_and_its_folder_give_the_same_answer(
    shop_to_read: Asker, shop_folder: Path, arguments: tuple[str, ...]
) -> None:
    url = str(shop_to_read.client.base_url)
    for form in ((), ("--json",)):
        there = commanded(*arguments, *form, "--server", url)
        here = commanded(*arguments, *form, "--data", shop_folder)
        assert there.stdout == here.stdout
        assert (there.returncode, there.stderr) == (here.returncode, here.stderr)
        assert form or not any(word in there.stdout for word in ("None", "True", "False", "{'", "['"))


@pytest.fixture(scope="module")
def shop_folder(shop_to_read: Asker) -> Path:
    items = shop_to_read.ask("settings")["items"]
    return Path(next(each["value"] for each in items if each["setting"] == "data"))


def test_the_environment_names_server_and_key_and_the_command_line_goes_before(
    shop_to_read: Asker, shop_folder: Path
) -> None:
    there = {"HEADWATER_URL": str(shop_to_read.client.base_url), "HEADWATER_KEY": "not-needed"}
    nowhere = {"HEADWATER_URL": "http://127.0.0.1:9"}
    asked = commanded(*IMPACT, "--json", environment=there)
    assert asked.returncode == 0
    assert commanded(*IMPACT, "--json", "--data", shop_folder, environment=nowhere).stdout == asked.stdout
    assert commanded(*IMPACT, "--json", "--server", there["HEADWATER_URL"], environment=nowhere).stdout == asked.stdout
    both = commanded(*IMPACT, "--server", "http://x", "--data", shop_folder)
    assert (both.returncode, "exclude each other" in both.stderr) == (3, True)


def test_errors_are_bodies_of_refusals_alike_from_server_folder_and_http(
    shop_to_read: Asker, shop_folder: Path
) -> None:
    url = str(shop_to_read.client.base_url)
    asked = ("impact", "silver/custmers", "--json")
    said = shop_to_read.refused("impact", 404, dataset="silver/custmers")
    for whom in (("--server", url), ("--data", shop_folder)):
        outcome = commanded(*asked, *whom)
        assert (outcome.returncode, outcome.stdout, json.loads(outcome.stderr)) == (3, "", said)
    usage = commanded("impact", "--jsn", "--json")
    assert (usage.returncode, "--jsn" in json.loads(usage.stderr)["error"]) == (2, True)
    assert set(json.loads(usage.stderr)) == {"error", "field", "fix"}
    missing = commanded(*IMPACT, "--json", "--data", shop_folder / "nowhere")
    assert "has no Headwater data" in json.loads(missing.stderr)["error"]


def test_keys_and_roles_are_named(keyed_to_read: str) -> None:
    for key, words in (
        ((), "key is missing or wrong"), (("--key", "wrong"), "key is missing or wrong"),
        (("--key", WRITE_KEY), "Key 'w' may not read"),
    ):  # fmt: skip
        outcome = commanded("audit", "--server", keyed_to_read, *key)
        assert outcome.returncode == 3
        assert words in outcome.stderr
        assert "--key or HEADWATER_KEY" in outcome.stderr
        assert outcome.stderr.count("\n") == 1
    assert commanded("audit", "--server", keyed_to_read, environment={"HEADWATER_KEY": READ_KEY}).returncode == 0


class Said(NamedTuple):
    """An answer of a different server."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = {}
    length: int | None = None


@contextmanager
def stranger(answer: Callable[[str], Said], context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run a server that is not Headwater, or a different version of it.

    answer: returns the answer for a path, which is followed by the last event id.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = answer(f"{self.path}{self.headers.get('last-event-id', '')}")
            self.send_response(said.status)
            for name, value in {"content-type": "application/json", **said.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(said.length or len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


VERSION = Said(body=json.dumps({"info": {"version": "9.9.9"}}).encode())
NO_ROUTE = Said(404, b'{"error": "There is nothing at x.", "field": null, "fix": "See /docs."}')


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            Said(body=b"<html>sign in</html>", headers={"content-type": "text/html"}),
            ("not a Headwater server", "text/html"),
        ),
        (
            Said(502, b"<h1>Bad gateway</h1>", {"content-type": "text/html"}),
            ("not a Headwater server", "status 502", "proxy"),
        ),
        (Said(302, b"", {"location": "https://login.example.org/x"}), ("redirects to", "login.example.org")),
        (Said(401, b"denied"), ("not a Headwater server", "status 401")),
        (Said(body=b'{"columns": ', length=500), ("No answer from", "without sending complete message body")),
        (Said(body=b"not gzip", headers={"content-encoding": "gzip"}), ("No answer from",)),
        (NO_ROUTE, ("does not know the question impact", "the server is 9.9.9", "Install")),
        (Said(body=b'{"columns": []}'), ("has another form", "'column'", "9.9.9", "--json")),
        (Said(503, b'{"error": "No \\u001b[31mlake\\u202e", "field": null, "fix": ""}'), ("No \\x1b[31mlake\\u202e",)),
    ],
)
def test_what_is_no_headwater_or_another_one_is_said_in_one_line(said: Said, words: tuple[str, ...]) -> None:
    with stranger(lambda path: VERSION if path == "/openapi.json" else said) as url:
        outcome = commanded(*IMPACT, "--server", url)
    assert (outcome.returncode, outcome.stdout, outcome.stderr.count("\n")) == (3, "", 1)
    assert all(word in outcome.stderr for word in words), outcome.stderr
    assert "\x1b" not in outcome.stderr


def test_members_of_a_later_version_are_passed_over_and_kept_as_json() -> None:
    later = {**REACHED, "later": {"a": [1]}}
    with stranger(lambda _: Said(body=json.dumps(later).encode())) as url:
        assert commanded(*IMPACT, "--server", url).returncode == 0
        assert json.loads(commanded(*IMPACT, "--server", url, "--json").stdout) == later


BEHIND: dict[str, Any] = {
    "error": "No dataset 'x'. That may change.",
    "field": None,
    "fix": "",
    "nearest": [],
    "behind": 3.0,
}


def test_who_is_behind_is_asked_again_and_not_for_ever() -> None:
    behind = Said(503, json.dumps(BEHIND).encode(), {"retry-after": "0"})
    asked: list[str] = []

    def later(path: str) -> Said:
        asked.append(path)
        return behind if len(asked) == 1 else Said()

    with stranger(later) as url:
        outcome = commanded("freshness", "--server", url)
    assert (outcome.returncode, len(asked)) == (0, 2)
    assert "is behind" in outcome.stderr
    said: list[str] = []
    with (
        stranger(lambda _: behind) as url,
        closing(ServerClient(url, None, said.append, retry_for_s=0.3)) as answers,
        pytest.raises(ServerRefusal, match="No dataset 'x'") as refused,
    ):
        answers.ask(freshness, {})
    assert (len(said), refused.value.body) == (1, BEHIND)


def test_an_answer_without_end_is_not_taken() -> None:
    packed = Said(body=gzip.compress(b" " * (8 << 20)), headers={"content-encoding": "gzip"})
    with (
        stranger(lambda _: packed) as url,
        closing(ServerClient(url, None, max_bytes=1 << 20)) as answers,
        pytest.raises(WrongQuestion, match="exceeds 1 MiB"),
    ):
        answers.ask(freshness, {})


def test_a_certificate_that_nobody_knows_is_named_and_can_be_trusted(tmp_path: Path) -> None:
    certificate = loopback_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with stranger(lambda _: Said(body=json.dumps(REACHED).encode()), context) as url:
        outcome = commanded(*IMPACT, "--server", url)
        assert (outcome.returncode, outcome.stderr.count("\n")) == (3, 1)
        assert "is not trusted: certificate verify failed" in outcome.stderr
        assert "SSL_CERT_FILE" in outcome.stderr
        assert commanded(*IMPACT, "--server", url, environment={"SSL_CERT_FILE": str(certificate)}).returncode == 0
        plain = commanded(*IMPACT, "--server", url.replace("https", "http"))
        assert (plain.returncode, "No answer from" in plain.stderr) == (3, True)
    with stranger(lambda _: Said()) as url:
        no_tls = commanded(*IMPACT, "--server", url.replace("http", "https"))
    assert (no_tls.returncode, "The TLS handshake" in no_tls.stderr) == (3, True)


def test_nobody_there_and_no_address() -> None:
    nobody = commanded("audit", "--server", "http://127.0.0.1:9")
    assert (nobody.returncode, nobody.stderr.count("\n")) == (3, 1)
    assert "No answer from http://127.0.0.1:9" in nobody.stderr
    assert "headwater up" in nobody.stderr
    wrong = commanded("audit", "--server", "localhost:5000")
    assert "Write it like http://127.0.0.1:5000" in wrong.stderr
    port = commanded("audit", "--server", "http://127.0.0.1:99999")
    assert (port.returncode, "Port out of range" in port.stderr, "No answer" in port.stderr) == (3, True, False)


def test_watch_tells_what_happens_and_ends_with_ctrl_c(shop_to_read: Asker) -> None:
    url = str(shop_to_read.client.base_url)
    odd = ("s3://watched", "\x1b[31mtable")
    with started("watch", "--job", "watched*", "--dataset", "*table", "--server", url) as watching:
        assert watching.stdout
        assert watching.stderr
        assert f"Listening to {url}" in watching.stderr.readline()
        shop_to_read.post(
            run(801, 0, made(("s3://watched", "other"), {}), job="watched.other"),
            run(802, 1, made(odd, {"x": [source(("s3://watched", "in"), "x", CLEAR)]}), job="watched.made"),
        )
        first, second = watching.stdout.readline(), watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        assert (watching.wait(30), watching.stderr.read()) == (0, "")
    assert first.split(" ", 1)[1] == f"run COMPLETE watched.made {uuid(802)}\n"
    assert second.split(" ", 1)[1] == "edge appeared in → \\x1b[31mtable by watched.made, 1 column\n"


def _stream(*events: tuple[str, str, Any]) -> bytes:
    return "".join(f"id: {id_}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for id_, kind, data in events).encode()


def test_a_stream_that_breaks_is_taken_up_behind_its_last_event() -> None:
    kind = {"content-type": "text/event-stream"}
    answers = {
        "": Said(
            body=_stream(("1", "hello", {}), ("2", "run", {"run": "a"})) + b"id: 3\nevent: run\ndata: {", headers=kind
        ),
        "2": Said(503, b'{"error": "The index is built.", "fix": ""}'),
    }
    waited: list[float] = []

    def answer(path: str) -> Said:
        last = path.rpartition("/live")[2]
        found = answers.pop(last, None)
        return found or Said(body=_stream(("3", "run", {"run": "b"})), headers=kind)

    with stranger(answer) as url, closing(ServerClient(url, None)) as asked:
        told = list(islice(follow_events(asked, waited.append), 3))
    assert [(each.id, each.event) for each in told] == [("1", "hello"), ("2", "run"), ("3", "run")]
    assert waited == [0.5, 1.0]


def test_what_has_no_stream_is_said_at_once() -> None:
    with stranger(lambda path: VERSION if path == "/openapi.json" else NO_ROUTE) as url:
        outcome = commanded("watch", "--server", url)
    assert (outcome.returncode, "does not know the question live" in outcome.stderr) == (3, True)
    nobody = commanded("watch", "--server", "http://127.0.0.1:9")
    assert (nobody.returncode, "No answer from" in nobody.stderr) == (3, True)


def test_bash_completes_commands_and_words(tmp_path: Path) -> None:
    shim = tmp_path / "headwater"
    shim.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from headwater.cli import main; main()' \"$@\"\n")
    shim.chmod(0o755)
    script = (
        'eval "$(headwater completion bash)"; COMP_WORDS=(headwater impact --mode a); COMP_CWORD=3; '
        '_headwater_completion headwater; echo "${COMPREPLY[@]}"'
    )
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=os.environ | path)
    assert found.stdout == "any\n"
    for shell in ("zsh", "fish"):
        assert "_HEADWATER_COMPLETE=complete_" + shell in commanded("completion", shell).stdout
