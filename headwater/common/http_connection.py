"""A persistent connection to one HTTP server, built on the standard library's client.

httpx needs four times the CPU per request (docs/decisions/0050-http-client-for-sinks.md). This client keeps its
timeouts, certificate checks and proxy variables, and never sends a request on a connection that the server has closed.
"""

import base64
import email.utils
import io
import os
import select
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi

from headwater.common.errors import Retry, WrongSetting

READ_BYTES = 1 << 20
"""The default maximum of response bytes to read. Further bytes are not read."""
_CONNECT_S = 10.0
_PART = 1 << 16


class HttpAnswer(NamedTuple):
    """A response: status, headers by lower-case name, and the first bytes of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _DeadlineReader(io.RawIOBase):
    """Read from a socket until a deadline.

    The timeout of the socket alone is not enough: it restarts with every read.
    """

    def __init__(self, connection: Any, raw: Any, left_s: Callable[[], float]) -> None:
        super().__init__()
        self._connection = connection
        self._raw = raw
        self._left_s = left_s

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int | None:
        self._connection.settimeout(self._left_s())
        found: int | None = self._raw.readinto(into)
        return found

    def close(self) -> None:
        self._raw.close()
        super().close()


class _DeadlineResponse(HTTPResponse):
    """A response that must arrive completely, with headers and body, before a deadline."""

    def __init__(self, connection: Any, *given: Any, left_s: Callable[[], float], **named: Any) -> None:
        super().__init__(connection, *given, **named)
        self.fp = io.BufferedReader(_DeadlineReader(connection, self.fp.detach(), left_s))


class PersistentConnection:
    """A connection for one thread. It connects at the first request, and connects again after a fault."""

    def __init__(self, url: str, *, timeout_s: float, context: ssl.SSLContext) -> None:
        """timeout_s: seconds for one request with its response. Raises WrongSetting if a proxy variable is invalid."""
        self._url = url
        self._timeout_s = timeout_s
        parts = urlsplit(url)
        proxy = _find_proxy(parts)
        at = proxy or parts
        self._prefix = url if proxy and parts.scheme == "http" else parts.path
        self._more = _proxy_authorization(proxy) if proxy and parts.scheme == "http" else {}
        connect_s = min(_CONNECT_S, timeout_s)
        self._connection = (
            HTTPSConnection(str(at.hostname), at.port or _PORTS[at.scheme], timeout=connect_s, context=context)
            if parts.scheme == "https"
            else HTTPConnection(str(at.hostname), at.port or _PORTS[at.scheme], timeout=connect_s)
        )
        self._until = 0.0
        self._connection.response_class = partial(_DeadlineResponse, left_s=self._remaining_s)  # type: ignore[assignment]
        if proxy and parts.scheme == "https":
            self._connection.set_tunnel(str(parts.hostname), parts.port or _PORTS["https"], _proxy_authorization(proxy))

    def request(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], max_bytes: int = READ_BYTES
    ) -> HttpAnswer:
        """Make one request and read at most `max_bytes` bytes of the response.

        Raises Retry if no complete response arrives, and WrongSetting if the headers are invalid.
        """
        self._until = time.monotonic() + self._timeout_s
        try:
            self._connect_if_closed()
            is_sent = self._send(method, path, body, headers)
            answer = self._connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            found = HttpAnswer(answer.status, named, _read_body_start(answer, max_bytes))
            if not is_sent or not answer.isclosed():  # unread bytes would be taken for the next response
                self.close()
        except (OSError, HTTPException) as error:
            self.close()
            raise Retry(f"No response from {self._url}: {str(error) or type(error).__name__}") from error
        except ValueError as error:
            self.close()
            raise WrongSetting(f"Cannot build a request to {self._url}: {error}. Correct `url` or `headers`.") from None
        return found

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> bool:
        """Send a request and return whether it was sent completely.

        False means that the server closed the connection early. The server may still have sent a response that explains
        why.
        """
        length = {} if body is None else {"content-length": str(len(body))}
        try:
            self._connection.request(
                method,
                self._prefix + path,
                None if body is None else self._body_parts(body),
                {**headers, **length, **self._more},
            )
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def _body_parts(self, body: bytes) -> Iterator[bytes]:
        """Yield a body in parts, and before each part set the socket timeout to the remaining time.

        Parts are needed because TLS applies the socket timeout to each write separately.
        """
        for begin in range(0, len(body), _PART):
            self._connection.sock.settimeout(self._remaining_s())
            yield body[begin : begin + _PART]

    def _remaining_s(self) -> float:
        if (left := self._until - time.monotonic()) <= 0:
            raise TimeoutError(f"timed out after {self._timeout_s:g} s")
        return left

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        self._connection.close()

    def _connect_if_closed(self) -> None:
        """Connect, unless the connection is still open. If an idle connection is readable, the server has closed it."""
        if (socket := self._connection.sock) is not None:
            poll = select.poll()
            poll.register(socket, select.POLLIN)
            if not poll.poll(0):
                return
            self.close()
        self._connection.connect()
        self._connection.sock.settimeout(self._remaining_s())


_PORTS = {"http": 80, "https": 443}
_OWN_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Environment variables that name trusted certificates, as in OpenSSL."""


def ssl_context(ca: str | None = None, protocols: Sequence[str] = ("http/1.1",)) -> ssl.SSLContext:
    """Return a TLS context that checks server certificates. protocols: offered by ALPN; empty to offer none.

    ca: path of a file with trusted certificates. If it is None, the context trusts the certificates that SSL_CERT_FILE
    or SSL_CERT_DIR name, or else the public certificate authorities. Raises WrongSetting if the file cannot be used.
    """
    public = None if any(map(os.environ.get, _OWN_TRUST)) else certifi.where()
    try:
        context = ssl.create_default_context(cafile=ca or public)
    except OSError as error:
        raise WrongSetting(f"Cannot use the certificates in {ca or public}: {error.strerror}. Correct `ca`.") from error
    if protocols:
        context.set_alpn_protocols([*protocols])
    return context


def _read_body_start(answer: HTTPResponse, max_bytes: int) -> bytes:
    """Return the first bytes of a body; raises IncompleteRead if it is shorter than its Content-Length."""
    is_short = answer.length is not None and answer.length <= max_bytes
    return answer.read() if is_short else answer.read(max_bytes)


def _find_proxy(parts: SplitResult) -> SplitResult | None:
    """Return the proxy for an address, or None. Reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."""
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.netloc):
        return None
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise WrongSetting(
            f"The proxy for {parts.scheme} is not of the form http://HOST:PORT. Correct {parts.scheme.upper()}_PROXY."
        )
    return proxy


def _proxy_authorization(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait by the Retry-After header (RFC 9110: seconds or a date).

    Without a valid header, return 0.
    """
    text = headers.get("retry-after", "").strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0
