"""One connection to one HTTP server, kept between requests, by the standard library's client.

httpx costs four times the CPU a request (docs/decisions.md). What it did stays: timeouts, certificates, the proxies of
the environment, and no request on a connection that the server has closed meanwhile.
"""

import base64
import io
import os
import select
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi

from headwater.errors import Retry, WrongSetting

READ_BYTES = 1 << 20
"""Of an answer, unless more is asked for; the rest is not read."""
_CONNECT_S = 10.0
_PART = 1 << 16


class HttpAnswer(NamedTuple):
    """What came back: status, headers by lower-case names, and the beginning of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _TimedReads(io.RawIOBase):
    """What a socket receives until a deadline: a timeout of the socket itself begins anew with every byte."""

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


class _TimedResponse(HTTPResponse):
    """An answer whose headers and body must be there before a deadline."""

    def __init__(self, connection: Any, *given: Any, left_s: Callable[[], float], **named: Any) -> None:
        super().__init__(connection, *given, **named)
        self.fp = io.BufferedReader(_TimedReads(connection, self.fp.detach(), left_s))


class KeptConnection:
    """For one thread; it connects with the first request, and again after a fault."""

    def __init__(self, url: str, *, timeout_s: float, context: ssl.SSLContext) -> None:
        """Connect to nothing yet; raises WrongSetting for a proxy that cannot be used.

        timeout_s: for one request with its answer.
        """
        self._url = url
        self._timeout_s = timeout_s
        parts = urlsplit(url)
        proxy = _proxy(parts)
        at = proxy or parts
        self._prefix = url if proxy and parts.scheme == "http" else parts.path
        self._more = _proxy_key(proxy) if proxy and parts.scheme == "http" else {}
        connect_s = min(_CONNECT_S, timeout_s)
        self._connection = (
            HTTPSConnection(str(at.hostname), at.port or _PORTS[at.scheme], timeout=connect_s, context=context)
            if parts.scheme == "https"
            else HTTPConnection(str(at.hostname), at.port or _PORTS[at.scheme], timeout=connect_s)
        )
        self._until = 0.0
        self._connection.response_class = partial(_TimedResponse, left_s=self._left_s)  # type: ignore[assignment]
        if proxy and parts.scheme == "https":
            self._connection.set_tunnel(str(parts.hostname), parts.port or _PORTS["https"], _proxy_key(proxy))

    def ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], most: int = READ_BYTES
    ) -> HttpAnswer:
        """Make one request; raises Retry where no whole answer came, WrongSetting for headers that are none.

        most: bytes of the answer that are read.
        """
        self._until = time.monotonic() + self._timeout_s
        try:
            self._make_ready()
            is_sent = self._send(method, path, body, headers)
            answer = self._connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            found = HttpAnswer(answer.status, named, _begin_of(answer, most))
            if not is_sent or not answer.isclosed():  # what is left unread would be taken for the next answer
                self.close()
        except (OSError, HTTPException) as error:
            self.close()
            raise Retry(f"No answer from {self._url}: {str(error) or type(error).__name__}") from error
        except ValueError as error:
            self.close()
            raise WrongSetting(
                f"A request to {self._url} cannot be made: {error}. Correct `url` or `headers`."
            ) from None
        return found

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> bool:
        """Send a request; tells whether the server took all of it. One that hangs up meanwhile may have said why."""
        length = {} if body is None else {"content-length": str(len(body))}
        try:
            self._connection.request(
                method,
                self._prefix + path,
                None if body is None else self._parts(body),
                {**headers, **length, **self._more},
            )
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def _parts(self, body: bytes) -> Iterator[bytes]:
        """Yield a body in parts, each with the time that is left: TLS counts the time of each write anew."""
        for begin in range(0, len(body), _PART):
            self._connection.sock.settimeout(self._left_s())
            yield body[begin : begin + _PART]

    def _left_s(self) -> float:
        if (left := self._until - time.monotonic()) <= 0:
            raise TimeoutError(f"timed out after {self._timeout_s:g} s")
        return left

    def close(self) -> None:
        """Close it; the next request connects anew."""
        self._connection.close()

    def _make_ready(self) -> None:
        """Connect, unless that was done and the server still holds it: what can be read now is its end."""
        if (socket := self._connection.sock) is not None:
            poll = select.poll()
            poll.register(socket, select.POLLIN)
            if not poll.poll(0):
                return
            self.close()
        self._connection.connect()
        self._connection.sock.settimeout(self._left_s())


_PORTS = {"http": 80, "https": 443}
_OWN_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables by which people name certificates to trust, as OpenSSL reads them."""


def trust(ca: str | None = None) -> ssl.SSLContext:
    """Return what checks certificates: by a file, else by those of the environment, else by the public ones.

    Raises WrongSetting where the file is none.
    """
    public = None if any(map(os.environ.get, _OWN_TRUST)) else certifi.where()
    try:
        context = ssl.create_default_context(cafile=ca or public)
    except OSError as error:
        raise WrongSetting(f"Cannot use the certificates in {ca or public}: {error.strerror}. Correct `ca`.") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def _begin_of(answer: HTTPResponse, most: int) -> bytes:
    """Return the beginning of a body; raises IncompleteRead where it is shorter than it was said to be."""
    is_short = answer.length is not None and answer.length <= most
    return answer.read() if is_short else answer.read(most)


def _proxy(parts: SplitResult) -> SplitResult | None:
    """Return the proxy that the environment names for an address (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY)."""
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.netloc):
        return None
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise WrongSetting(
            f"The proxy for {parts.scheme} is none of http://HOST:PORT. Correct {parts.scheme.upper()}_PROXY."
        )
    return proxy


def _proxy_key(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
