"""Requests that no program of the user's sends: for two hosts, and, while there are no keys, of pages of others.

Whatever page is open in a browser of this machine can send requests to loopback, under a name of its own as well (DNS
rebinding); the browser says in `Origin` and `Sec-Fetch-Site` whose page it is.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from headwater.receiver import Refusal
from headwater.settings import is_loopback

_TWO_HOSTS = Refusal(400, "two_hosts", "There is more than one Host header.", "Send one, as RFC 9112 says.")
_FOREIGN_HOST = Refusal(
    403,
    "host",
    "This Host header is not on the list.",
    "Use localhost, add the name to `allowed_hosts`, or set keys.",
)
_FOREIGN_PAGE = Refusal(
    403,
    "origin",
    "The page that sends this is not ours.",
    "Use the page at this address, add its origin, such as http://localhost:3000, to `allowed_hosts`, or set keys.",
)
_READING = ("GET", "HEAD")
_OUR_SITES = ("", "same-origin", "none")


class Doorkeeper:
    """Looks at the headers of each request before any station does."""

    def __init__(self, allowed_hosts: Iterable[str], *, is_open: Callable[[], bool]):
        """allowed_hosts: names, and origins, such as `http://localhost:3000`, whose pages may send requests.

        is_open: tells whether nobody needs a key.
        """
        self._allowed = {each.lower() for each in allowed_hosts}
        self._is_open = is_open

    def refusal(self, method: str, headers: Mapping[str, str]) -> Refusal | None:
        """Return how a request is refused, None where it may come in. headers: several of one name, host, joined."""
        host = headers.get("host", "").lower()
        if "," in host:
            return _TWO_HOSTS
        if not self._is_open():
            return None
        if (name := _name(host)) not in self._allowed:
            return _FOREIGN_HOST
        origin = headers.get("origin")
        if origin is None:
            site = "" if method in _READING else headers.get("sec-fetch-site", "")
            return None if site in _OUR_SITES else _FOREIGN_PAGE
        return None if self._is_ours(origin.lower(), host, name) else _FOREIGN_PAGE

    def _is_ours(self, origin: str, host: str, name: str) -> bool:
        """Tell whether a page is of the address that it asks; by TLS only behind a proxy with a name of its own."""
        schemes = ("http",) if is_loopback(name) else ("http", "https")
        return origin in self._allowed or origin in [f"{scheme}://{host}" for scheme in schemes]


_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^\[\]:@/\\?#,\s]+))(?::[0-9]{1,5})?")
"""A Host header (RFC 9110, section 7.2) in lower case: an IPv6 address in brackets or a name, then perhaps a port."""


def _name(host: str) -> str:
    """Return the name of a Host header without its port; empty for a header that is not one host."""
    found = _HOST.fullmatch(host)
    return (found["address"] or found["name"]) if found else ""
