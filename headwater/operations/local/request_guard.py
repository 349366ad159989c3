"""Refuse requests with two Host headers, changes with `read_only`, and, without keys, requests of foreign web pages.

Any page in a browser on this machine can send requests to loopback, even under its own host name (DNS rebinding). The
browser sends the page's origin in `Origin` and `Sec-Fetch-Site`.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from headwater.intake.receiver import Refusal
from headwater.operations.settings import is_loopback

_TWO_HOSTS = Refusal(400, "two_hosts", "There is more than one Host header.", "Send one, according to RFC 9112.")
_FOREIGN_HOST = Refusal(
    403,
    "host",
    "This Host header is not in `allowed_hosts`.",
    "Use localhost, add the name to `allowed_hosts`, or set keys.",
)
_FOREIGN_PAGE = Refusal(
    403,
    "origin",
    "The request comes from a page of another origin.",
    "Use the page at this address, add its origin, such as http://localhost:3000, to `allowed_hosts`, or set keys.",
)
_READ_ONLY = Refusal(
    403,
    "read_only",
    "This server is read-only.",
    "Send the request to a Headwater without the setting `read_only`. `headwater show` is always read-only.",
)
_READING = ("GET", "HEAD")
_SESSIONS = "/auth/"
_OUR_SITES = ("", "same-origin", "none")


class RequestGuard:
    """Checks the headers of each request before anything handles it."""

    def __init__(self, allowed_hosts: Iterable[str], *, is_open: Callable[[], bool], read_only: bool = False):
        """allowed_hosts: host names, and origins such as `http://localhost:3000` whose pages may send requests.

        is_open: returns whether requests need no key. read_only: whether to allow only GET, HEAD and OPTIONS, and the
        requests to sign in and out.
        """
        self._is_read_only = read_only
        self._allowed = {each.lower() for each in allowed_hosts}
        self._is_open = is_open

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Return the refusal of a request, None if it is allowed.

        headers: values by lower-case name; repeated Host headers are joined by commas.
        """
        host = headers.get("host", "").lower()
        if "," in host:
            return _TWO_HOSTS
        if self._is_read_only and method not in (*_READING, "OPTIONS") and not path.startswith(_SESSIONS):
            return _READ_ONLY
        if not self._is_open():
            return None
        if (name := _host_name(host)) not in self._allowed:
            return _FOREIGN_HOST
        origin = headers.get("origin")
        if origin is None:
            site = "" if method in _READING else headers.get("sec-fetch-site", "")
            return None if site in _OUR_SITES else _FOREIGN_PAGE
        return None if self._is_same_origin(origin.lower(), host, name) else _FOREIGN_PAGE

    def _is_same_origin(self, origin: str, host: str, name: str) -> bool:
        """Return whether a page of this origin may send requests: it is allowed, or has the address of the server.

        An https origin matches only for a host name, because only a proxy in front of Headwater serves https.
        """
        schemes = ("http",) if is_loopback(name) else ("http", "https")
        return origin in self._allowed or origin in [f"{scheme}://{host}" for scheme in schemes]


_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^\[\]:@/\\?#,\s]+))(?::[0-9]{1,5})?")
"""A Host header (RFC 9110, section 7.2) in lower case: a bracketed IPv6 address or a name, and an optional port."""


def _host_name(host: str) -> str:
    """Return the host name without its port; empty if the header is not exactly one host."""
    found = _HOST.fullmatch(host)
    return (found["address"] or found["name"]) if found else ""
