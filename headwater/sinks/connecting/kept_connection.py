"""One connection to one HTTP server, kept between requests, by the standard library's client.

httpx costs four times the CPU a request (docs/decisions.md). What it did stays: timeouts, certificates, the proxies of
the environment, and no request on a connection that the server has closed meanwhile.
"""

import base64
import os
import select
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi

from headwater.errors import Retry, WrongSetting

READ_BYTES = 1 << 20
"""Of an answer, unless more is asked for; the rest is not read."""
_CONNECT_S = 10.0


class HttpAnswer(NamedTuple):
    """What came back: status, headers by lower-case names, and the beginning of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class KeptConnection:
    """For one thread; it connects with the first request, and again after a fault."""

    def __init__(self, url: str, *, timeout_s: float, context: ssl.SSLContext) -> None:
        """Connect to nothing yet. timeout_s: longest silence; raises WrongSetting for a proxy that cannot be used."""
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
        if proxy and parts.scheme == "https":
            self._connection.set_tunnel(str(parts.hostname), parts.port or _PORTS["https"], _proxy_key(proxy))

    def ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], most: int = READ_BYTES
    ) -> HttpAnswer:
        """Make one request; raises Retry where no whole answer came, WrongSetting for headers that are none.

        most: bytes of the answer that are read.
        """
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
        try:
            self._connection.request(method, self._prefix + path, body, {**headers, **self._more})
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

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
        self._connection.sock.settimeout(self._timeout_s)


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
