"""The connection of HTTP targets: reuse, reconnection after the server closes it, proxies and certificates."""

import base64
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from headwater.common.errors import Retry, WrongSetting
from headwater.common.http_connection import PersistentConnection
from headwater.sinks.connecting.blob_folder import BlobFolder
from headwater.sinks.connecting.folders import BoundedCalls
from headwater.sinks.connecting.http import Poster
from headwater.sinks.connecting.s3_folder import S3Folder
from headwater.sinks.interface.error_isolation import convert_guarded, deliver_guarded, event_position
from headwater.sinks.interface.shape import Outcome, Payload, SinkEvent
from headwater.sinks.interface.target_registry import open_sink
from tests.support.data.sink_world import payloads, sink
from tests.support.servers.sink_target import Asked, Said, eventually, sink_server

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def poster(url: str, ca: str | None = None, timeout_s: float = 30.0) -> Poster:
    return Poster(url, lambda *_: {"authorization": "Bearer x"}, timeout_s=timeout_s, ca=ca, compress=False)


@contextmanager
def speaking(*says: Callable[[socket.socket], None], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Accept one connection for each of these functions, one after the other."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for say in says:
            try:
                plain, _ = listener.accept()
                with tls.wrap_socket(plain, server_side=True) if tls else plain as connection:
                    say(connection)
            except OSError:
                continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with closing(listener):
        yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


def answer_once(connection: socket.socket) -> None:
    """Answer `{}` after the complete request has arrived."""
    heard = b""
    while not heard.endswith(b"\r\n\r\n{}"):
        heard += connection.recv(65536) or b"\r\n\r\n{}"
    connection.sendall(OK)


def test_a_body_that_is_not_read_to_its_end_is_not_taken_for_the_next_answer() -> None:
    with sink_server() as server, closing(poster(server.url)) as out:
        large = b"x" * (3 << 20)
        server.answer = lambda _: Said(200, large if len(server.asked) == 2 else b"{}")
        assert [len(out.request("POST", "/", b"{}").body) for _ in range(5)] == [2, 2, 1 << 20, 2, 2]


def test_one_connection_carries_all_requests() -> None:
    def answer_thrice(connection: socket.socket) -> None:
        for _ in range(3):
            answer_once(connection)

    with speaking(answer_thrice) as url, closing(poster(url)) as out:
        assert [out.request("POST", "/", b"{}").status for _ in range(3)] == [
            200
        ] * 3  # the server accepts no second connection


def test_a_connection_that_the_server_closed_meanwhile_is_made_anew() -> None:
    closed, gone = threading.Event(), threading.Event()

    def answer_and_go(connection: socket.socket) -> None:
        answer_once(connection)
        connection.shutdown(socket.SHUT_WR)
        closed.set()
        connection.recv(1)  # returns after the other side has closed the connection
        gone.set()

    with speaking(answer_and_go, answer_once) as url, closing(poster(url)) as out:
        assert out.request("POST", "/", b"{}").status == 200
        assert closed.wait(10)
        assert out.request("POST", "/", b"{}").status == 200
        assert gone.wait(10)


def test_a_refusal_before_all_was_sent_is_heard() -> None:
    def refuse(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 413 No\r\ncontent-length: 0\r\n\r\n")

    with speaking(refuse) as url, closing(poster(url)) as out:
        answer = out.post("/", b"x" * (64 << 20), 1)
        assert isinstance(answer, Outcome)
        assert answer.refused == {0: "status 413"}


def test_nothing_is_sent_twice_by_itself() -> None:
    asked: list[Asked] = []

    def hang_up(seen: Asked) -> Said:
        asked.append(seen)
        return Said(hang_up=True)

    with sink_server() as server, closing(poster(server.url)) as out:
        server.answer = hang_up
        with pytest.raises(Retry, match="No response from http://127"):
            out.request("POST", "/", b"{}")
        assert len(asked) == 1


def test_a_header_that_is_none_is_a_wrong_setting_not_a_fault_of_ours() -> None:
    with sink_server() as server:
        made = Poster(server.url, lambda *_: {"x-key": "a\r\nb"}, timeout_s=5, ca=None, compress=False)
        with closing(made) as out, pytest.raises(WrongSetting, match="Correct `url` or `headers`"):
            out.request("POST", "/", b"{}")
        assert server.asked == []


def test_a_proxy_of_the_environment_is_used_with_its_credentials_unless_the_host_is_exempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with sink_server() as proxy, sink_server() as server:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//me:pass%21@"))
        with closing(poster("http://nowhere.invalid/api")) as out:
            assert out.request("POST", "/v1/lineage", b"{}").status == 200
        (asked,) = proxy.asked
        assert asked.path == "http://nowhere.invalid/api/v1/lineage"
        assert asked.headers["host"] == "nowhere.invalid"
        assert asked.headers["proxy-authorization"] == "Basic bWU6cGFzcyE="
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with closing(poster(server.url)) as out:
            assert out.request("POST", "/v1/lineage", b"{}").status == 200
        assert (len(proxy.asked), [each.path for each in server.asked]) == (1, ["/v1/lineage"])
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(WrongSetting, match="Correct HTTP_PROXY"):
        poster("http://nowhere.invalid")


def test_https_goes_through_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []

    def refuse(connection: socket.socket) -> None:
        heard.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 407 Who are you\r\n\r\n")

    with speaking(refuse) as proxy:
        monkeypatch.setenv("https_proxy", proxy)
        with closing(poster("https://nowhere.invalid")) as out, pytest.raises(Retry, match="407"):
            out.request("POST", "/", b"{}")
    assert heard[0].startswith(b"CONNECT nowhere.invalid:443 ")


def test_a_certificate_counts_if_the_file_of_the_setting_has_it(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "ca.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with speaking(answer_once, answer_once, tls=tls) as url:
        with closing(poster(url)) as out, pytest.raises(Retry, match="CERTIFICATE_VERIFY_FAILED"):
            out.request("POST", "/", b"{}")
        with closing(poster(url, ca=str(certificate))) as out:
            assert out.request("POST", "/", b"{}").body == b"{}"


def test_a_silence_ends_after_its_timeout_and_the_next_request_is_answered() -> None:
    silent = threading.Event()

    def keep_silent(connection: socket.socket) -> None:
        connection.recv(65536)
        silent.wait(30)

    with speaking(keep_silent, answer_once) as url:
        context = httpx.create_ssl_context()
        with closing(PersistentConnection(url, timeout_s=1.0, context=context)) as connection:
            with pytest.raises(Retry, match="timed out"):
                connection.request("POST", "/", b"{}", {})
            silent.set()
            assert connection.request("POST", "/", b"{}", {}).status == 200


HEAD = OK.removesuffix(b"{}")


@pytest.mark.parametrize("at_once", [b"", HEAD], ids=["headers", "body"])
def test_a_target_that_sends_byte_by_byte_has_one_deadline_for_all_of_it(at_once: bytes) -> None:
    """Each byte arrives within the timeout, but the answer never completes."""
    gone = threading.Event()

    def trickle(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(at_once.replace(b"length: 2", b"length: 900"))
        for byte in b"HTTP/1.1 200 OK\r\nx-slow: " + b"x" * 900:
            connection.sendall(bytes([byte]))
            if gone.wait(0.05):
                return

    with speaking(trickle, answer_once) as url, closing(poster(url, timeout_s=0.4)) as out:
        with pytest.raises(Retry, match="timed out"):
            out.request("POST", "/", b"{}")
        gone.set()
        assert out.request("POST", "/", b"{}").status == 200


def trickling(gone: threading.Event, begin: bytes) -> Callable[[socket.socket], None]:
    """Return a function that sends an endless answer byte by byte."""

    def trickle(connection: socket.socket) -> None:
        connection.recv(65536)
        for byte in begin + b"x" * 9000:
            connection.sendall(bytes([byte]))
            if gone.wait(0.05):
                return

    return trickle


def test_a_tls_handshake_that_comes_byte_by_byte_has_a_deadline(tmp_path: Path) -> None:
    gone = threading.Event()
    record = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"  # the head of a long ServerHello
    with speaking(trickling(gone, record)) as url, closing(poster(url.replace("http", "https"), timeout_s=0.4)) as out:
        with pytest.raises(Retry, match="handshake operation timed out"):
            out.request("POST", "/", b"{}")
        gone.set()


def s3_folder(url: str) -> S3Folder:
    key = {"aws_access_key_id": "id", "aws_secret_access_key": "key", "aws_region": "eu-west-1"}
    return S3Folder("s3://bucket/in", {**key, "aws_endpoint_url": url}, deadline_s=3.0)


def blob_folder(url: str) -> BlobFolder:
    key = base64.b64encode(b"key").decode()
    return BlobFolder(f"{url}/account/container", {"account_name": "account", "account_key": key}, deadline_s=3.0)


@pytest.mark.slow
@pytest.mark.parametrize("opened", [s3_folder, blob_folder])
def test_storage_that_answers_byte_by_byte_holds_no_request_beyond_its_deadline(
    opened: Callable[[str], S3Folder | BlobFolder],
) -> None:
    """The storage clients limit only the time of each read."""
    gone = threading.Event()
    with speaking(trickling(gone, b"HTTP/1.1 200 OK\r\nx-slow: ")) as url, closing(opened(url)) as folder:
        with pytest.raises(Retry, match=r"Cannot write .* No complete response within 3 s"):
            folder.write("a.ndjson", [b"{}"])
        gone.set()


@pytest.mark.slow
def test_a_delta_table_on_storage_that_answers_byte_by_byte_has_a_deadline() -> None:
    """delta-rs' storage client limits the time of a whole request, and of its repetitions."""
    gone = threading.Event()
    key = {"aws_access_key_id": "id", "aws_secret_access_key": "key", "aws_region": "eu-west-1"}
    quick = {"timeout": "1s", "max_retries": "0", "aws_allow_http": "true"}
    with speaking(trickling(gone, b"HTTP/1.1 200 OK\r\nx-slow: ")) as url:
        of = sink(type="delta", table="s3://bucket/t", options={**key, **quick, "aws_endpoint_url": url})
        outcome = deliver_guarded(open_sink(of, lambda _: "key"), payloads(["a"]), str)
        gone.set()
    assert list(outcome.again) == [0]
    assert "did not answer in time" in outcome.trouble


def test_requests_that_are_left_behind_are_few() -> None:
    gone = threading.Event()
    calls = BoundedCalls(0.01)
    for _ in range(4):
        with pytest.raises(Retry, match="No complete response within"):
            calls.run_bounded(gone.wait)
    with pytest.raises(Retry, match="4 earlier requests"):
        calls.run_bounded(gone.wait)
    gone.set()
    eventually(lambda: not [each for each in threading.enumerate() if each.name == "sink-request"])
    assert calls.run_bounded(lambda: 7) == 7


class _Forging:
    """A target that fails with an error text that imitates log lines."""

    largest = 1
    said = "bad\r\n2026 ERROR forged\x1b[2J\u2028next"

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:  # noqa: ARG002 - as a target has it
        raise ValueError(self.said)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:  # noqa: ARG002 - as a target has it
        try:
            raise KeyError(self.said)
        except KeyError:
            raise ValueError(self.said) from None

    def check(self) -> str:
        return ""

    def close(self) -> None:
        """Do nothing."""


def test_words_of_a_target_forge_no_lines_of_a_traceback_and_no_reasons(caplog: pytest.LogCaptureFixture) -> None:
    """Each message of the traceback is one line, and its frames have Python's format."""
    made = payloads(["a"])
    (unfit,) = convert_guarded(_Forging().convert, [made[0].event], event_position, str)
    outcome = deliver_guarded(_Forging(), made, str)
    for said in (unfit.unfit or "", outcome.trouble):
        assert said.isprintable()
        assert "2026 ERROR forged\\x1b[2J" in said
    lines = "\n".join(record.getMessage() for record in caplog.records).splitlines()
    assert all(line.isprintable() for line in lines)
    assert not [line for line in lines if line.startswith(("2026", "next"))]
    assert len([line for line in lines if line.startswith("ValueError: bad\\r\\n2026")]) == 2
    assert [line for line in lines if line.startswith("  File ")]


def test_a_redirection_names_where_it_leads_and_the_remedy_on_one_line() -> None:
    with sink_server() as server, closing(poster(server.url)) as out:
        server.answer = lambda _: Said(302, b"moved\r\n2026 ERROR forged\x1b[2J", {"location": "https://new.example/a"})
        outcome = out.post("/", b"{}", 1)
    assert isinstance(outcome, Outcome)
    assert "https://new.example/a" in outcome.trouble
    assert "correct `url`" in outcome.trouble
    assert outcome.trouble.isprintable()
    assert "\\r\\n2026 ERROR forged\\x1b[2J" in outcome.trouble
