"""Send questions to a running Headwater over HTTP."""

import os
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from headwater.api.routes import BASE
from headwater.common.errors import HeadwaterError, Retry, ServerRefusal, WrongQuestion, WrongSetting
from headwater.common.http_connection import ssl_context
from headwater.common.server_address import LOCAL, server_address
from headwater.questions.declaring import Question

RETRY_FOR_S = 10.0
"""Seconds to retry while the server answers 503 with a Retry-After header."""

MAX_BYTES = 256 << 20
"""Maximum decompressed size of an answer in bytes. JSON of this size takes about 2 GB as Python objects."""

TIMEOUT_S = 300.0
"""Seconds to wait for each part of an answer. A question about the past may take minutes before its answer starts."""

_CONNECT_S = 10.0

_KEY = "Pass the key with --key or HEADWATER_KEY."


def configured_server(server: str | None) -> str | None:
    """Return the URL in --server, by default in the variable `HEADWATER_URL`, None if both are missing."""
    return server or os.environ.get("HEADWATER_URL") or None


def server_or_local(server: str | None) -> str:
    """Return the URL in --server, by default in `HEADWATER_URL`, else the URL of a Headwater on this machine."""
    return configured_server(server) or LOCAL


class ServerClient:
    """A client of the reading API."""

    def __init__(
        self, url: str, key: str | None, notify: Callable[[str], None] = lambda _: None, *,
        retry_for_s: float = RETRY_FOR_S, max_bytes: int = MAX_BYTES, timeout_s: float = TIMEOUT_S,
    ) -> None:  # fmt: skip
        """Prepare a client without connecting. Raises WrongSetting if `url` is invalid.

        notify: receives a message if the client has to wait. retry_for_s, max_bytes, timeout_s: see the constants.
        """
        headers = {"user-agent": f"headwater/{version('headwater')}"}
        headers |= {"authorization": f"Bearer {key}"} if key else {}
        self.url, self._notify, self._retry_for_s, self._max_bytes = server_address(url), notify, retry_for_s, max_bytes
        timeout = httpx.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S))
        try:
            self._client = httpx.Client(base_url=self.url, headers=headers, timeout=timeout, verify=ssl_context())
        except (httpx.InvalidURL, ValueError) as error:  # an invalid proxy variable, or a key with non-ASCII characters
            raise WrongSetting(f"Cannot connect to {url!r}: {error}. Write it like {LOCAL}.") from error

    def ask(self, question: Question, asked: Mapping[str, Any], **path: str) -> Any:
        """Return the answer as JSON values. asked: query parameters; path: path parameters.

        Retries for `retry_for_s` if the server is behind. Raises ServerRefusal with the error of the server, Retry if
        the server does not answer, WrongSetting if it is not a Headwater.
        """
        place = f"{BASE}/{question.path.format(**{name: quote(value, safe='') for name, value in path.items()})}"
        until, has_notified = time.monotonic() + self._retry_for_s, False
        while True:
            answer, body = self._send(question.method, place, asked)
            pause_s = _pause_s(answer) if question.method == "GET" else 0.0
            if not pause_s or time.monotonic() + pause_s > until:
                break
            if not has_notified:
                self._notify(f"{self.url} is behind. Retrying for up to {self._retry_for_s:.0f} s.")
            has_notified = True
            time.sleep(pause_s)
        if answer.status_code == 200:
            return self._decode(answer, body)
        raise self._refusal_error(question, answer, body)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def stream(self, place: str, headers: Mapping[str, str], silent_s: float) -> Any:
        """Return a context manager with the response of an endless stream. silent_s: timeout between two parts."""
        timeout = httpx.Timeout(silent_s, connect=_CONNECT_S)
        return self._client.stream("GET", f"{BASE}/{place}", headers=dict(headers), timeout=timeout)

    def readiness(self) -> Mapping[str, Any]:
        """Return the answer of `/health/ready`, with any HTTP status. Raises Retry or WrongSetting like `ask`."""
        answer, body = self._send("GET", "/health/ready", {})
        found = self._decode(answer, body)
        if not isinstance(found, dict) or "components" not in found:
            raise self._not_headwater_error(answer)
        return found

    def version(self) -> str | None:
        """Return the version of the server, None if the server does not report it, for example without a valid key."""
        try:
            answer, body = self._send("GET", "/openapi.json", {})
            return str(self._decode(answer, body)["info"]["version"])
        except (HeadwaterError, KeyError, TypeError):
            return None

    def unexpected_answer(self, question: Question, error: Exception) -> WrongSetting:
        """Return the error for an answer that lacks an expected member."""
        return WrongSetting(
            f"The answer of {self.url} to {question.name} has another form (missing: {error}): the server is "
            f"{self._version_text()}, this command is {version('headwater')}. Install the server's version, or use "
            "--json."
        )

    def stream_error(self, question: Question, answer: httpx.Response) -> HeadwaterError:
        """Return the error for a stream that the server refused."""
        return self._refusal_error(question, answer, answer.read())

    def connection_error(self, error: httpx.RequestError) -> Retry:
        """Return the error for a request without a complete response."""
        reason = str(error) or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            reason = reason.rpartition("CERTIFICATE_VERIFY_FAILED]")[2].partition("(")[0].strip()
            return Retry(
                f"The certificate of {self.url} is not trusted: {reason}. If your own CA issued it, set SSL_CERT_FILE "
                "to the file with the CA certificate."
            )
        if "SSL" in reason:
            return Retry(
                f"The TLS handshake with {self.url} failed: {reason}. Check the port, and whether the URL is http://."
            )
        if isinstance(error, httpx.TimeoutException):
            reason = "it did not answer in time"
        return Retry(f"No answer from {self.url}: {reason}. Start `headwater up` there, or set another --server.")

    def _send(self, method: str, place: str, asked: Mapping[str, Any]) -> tuple[httpx.Response, bytes]:
        body = bytearray()
        try:
            with self._client.stream(method, place, params=dict(asked)) as answer:
                for part in answer.iter_bytes():
                    body += part
                    if len(body) > self._max_bytes:
                        raise WrongQuestion(
                            f"The answer of {self.url} exceeds {self._max_bytes >> 20} MiB. Use a smaller --limit."
                        )
        except httpx.RequestError as error:
            raise self.connection_error(error) from error
        return answer, bytes(body)

    def _version_text(self) -> str:
        return self.version() or "another version"

    def _decode(self, answer: httpx.Response, body: bytes) -> Any:
        try:
            return msgspec.json.decode(body)
        except msgspec.DecodeError:
            raise self._not_headwater_error(answer) from None

    def _refusal_error(self, question: Question, answer: httpx.Response, body: bytes) -> HeadwaterError:
        try:
            error = msgspec.json.decode(body, type=dict[str, Any])
            text = str(error["error"])
        except (msgspec.DecodeError, KeyError):
            return self._not_headwater_error(answer)
        if answer.status_code in (401, 403):
            error["fix"] = f"{error.get('fix') or ''} {_KEY}".strip()
            text += f" {error['fix']}"
        elif answer.status_code == 404 and "nearest" not in error:
            own = version("headwater")
            text, fix = (
                f"{self.url} does not know the question {question.name}: the server is {self._version_text()}, this "
                f"command is {own}.",
                "Install the version of the server, or ask a server of this version. If a Python package adds the "
                "question, install the package where the server runs, and restart it.",
            )
            error |= {"error": text, "fix": fix}
            text += f" {error['fix']}"
        return ServerRefusal(text, error)

    def _not_headwater_error(self, answer: httpx.Response) -> WrongSetting:
        if answer.is_redirect:
            there = answer.headers.get("location", "nowhere")[:200]
            return WrongSetting(
                f"{self.url} redirects to {there!r}. If you trust it with your key, use that URL with --server."
            )
        kind = answer.headers.get("content-type", "without a type").partition(";")[0]
        return WrongSetting(
            f"{self.url} is not a Headwater server: it answers with status {answer.status_code}, {kind}. Use the URL "
            "of `headwater up`, and check for a proxy or sign-in page in front of it."
        )


def _pause_s(answer: httpx.Response) -> float:
    """Return the seconds of the Retry-After header of a 503, 0 without one."""
    value = answer.headers.get("retry-after", "")
    return max(float(value), 0.1) if answer.status_code == 503 and value.isascii() and value.isdigit() else 0.0
