"""Post to addresses that are secrets, such as incoming webhooks: the path and the query authenticate the sender."""

from collections.abc import Mapping
from typing import NamedTuple

from headwater.sinks.connecting.http import Poster
from headwater.sinks.interface.options import SecretLocation, SecretResolver
from headwater.sinks.interface.shape import Outcome
from headwater.sinks.targets.alerts.options import checked_webhook_address


class SecretAddress(NamedTuple):
    """A connection, and the path with its query. Messages of errors contain only the host."""

    poster: Poster
    path: str

    def post(self, body: bytes) -> Outcome:
        """Post one message; a 2xx status means that it was accepted."""
        return self.poster.post_all(self.path, body, 1)


def open_addresses(
    urls: Mapping[str, SecretLocation], reveal: SecretResolver, *, timeout_s: float, ca: str | None
) -> dict[str, SecretAddress]:
    """Return the connections by name, without connecting; raises WrongSetting if a secret is not an address."""
    found = {}
    for name, location in urls.items():
        scheme, _, rest = checked_webhook_address(reveal(location), name).partition("://")
        host, _, path = rest.partition("/")
        poster = Poster(f"{scheme}://{host}", lambda *_: {}, timeout_s=timeout_s, ca=ca, compress=False)
        found[name] = SecretAddress(poster, f"/{path}")
    return found


def close_addresses(addresses: Mapping[str, SecretAddress]) -> None:
    """Close all connections."""
    for each in addresses.values():
        each.poster.close()
