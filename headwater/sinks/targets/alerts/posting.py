"""Post to addresses that are secrets, such as incoming webhooks: the path and the query authenticate the sender."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from headwater.common.errors import Retry, WrongSetting
from headwater.sinks.connecting.http import Poster, failure_outcome
from headwater.sinks.interface.options import SecretLocation, SecretResolver
from headwater.sinks.interface.shape import Outcome, retry_all
from headwater.sinks.targets.alerts.options import checked_webhook_address

_SECRET_VALUE, _SECRET_SEGMENT = 8, 16
"""Minimum number of characters of a value of the query, and of a segment of the path, to be masked alone."""


class SecretAddress(NamedTuple):
    """A connection, and the path with its query. Messages of errors contain only the host."""

    poster: Poster
    path: str

    def post(self, body: bytes) -> Outcome:
        """Post one message; a 2xx status means that it was accepted."""
        try:
            answer = self.poster.request("POST", self.path, body)
        except (Retry, WrongSetting) as error:
            return retry_all(1, mask_address(str(error), self.path))
        if 200 <= answer.status < 300:
            return Outcome()
        where = urlsplit(answer.headers.get("location", ""))
        headers = {**answer.headers, "location": f"{where.scheme}://{where.hostname}" if where.hostname else ""}
        masked = mask_address(answer.body.decode("utf-8", "replace"), self.path).encode()
        outcome = failure_outcome(answer._replace(headers=headers, body=masked), 1)
        refused = {place: mask_address(reason, self.path) for place, reason in outcome.refused.items()}
        return replace(outcome, refused=refused, trouble=mask_address(outcome.trouble, self.path))


def mask_address(text: str, path: str) -> str:
    """Replace a secret path, its query, and each long part of them with `***`, also without percent encoding."""
    bare, _, query = path.partition("?")
    parts = {path, bare, query}
    parts |= {each for each in bare.split("/") if len(each) >= _SECRET_SEGMENT}
    values = {each.partition("=")[2] for each in query.split("&")}
    parts |= {each for each in values if len(each) >= _SECRET_VALUE}
    parts |= {unquote(each) for each in parts}
    for part in sorted(parts, key=len, reverse=True):
        if len(part.strip("/")) >= _SECRET_VALUE:
            text = text.replace(part, "***")
    return text


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
