"""Query a Headwater server for broken contracts over HTTP (docs/contracts.md)."""

import hashlib
from urllib.parse import urlencode

import msgspec

from headwater.common.errors import Retry
from headwater.sinks.connecting.http_post import Poster

_MOST = 10_000
"""Maximum number of contracts in a response."""
_MOST_BYTES = 64 << 20


class ContractBreach(msgspec.Struct):
    """A broken promise and its cause, as in the server's response."""

    kind: str
    dataset: str
    column: str | None
    message: str
    run: str | None
    time: str | None
    job: dict[str, str] | None
    warning: bool = False


class BrokenContract(msgspec.Struct):
    """A contract file with broken promises."""

    file: str
    dataset: str | None
    version: str | None
    state: str
    breaks: list[ContractBreach]

    @property
    def id(self) -> str:
        """Return an id that distinguishes the contract from others."""
        return hashlib.sha256(f"contract {self.file}".encode()).hexdigest()[:16]


class _ContractsAnswer(msgspec.Struct):
    items: list[BrokenContract]
    truncated: bool


class BrokenContracts:
    """A connection to one Headwater server."""

    def __init__(self, poster: Poster, url: str) -> None:
        """url: address for messages."""
        self._poster, self._url = poster, url

    def broken(self) -> list[BrokenContract]:
        """Return all broken contracts; raises Retry if the server does not respond, or not completely."""
        asked = urlencode({"limit": _MOST, "sort": "state"})
        answer = self._poster.ask("GET", f"/api/headwater/v1/contracts?{asked}", max_bytes=_MOST_BYTES)
        try:
            found = msgspec.json.decode(answer.body, type=_ContractsAnswer) if answer.status == 200 else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = None
        if found is None:
            why = answer.body[:200].decode("utf-8", "replace").strip()
            raise Retry(f"{self._url} returned no list of broken contracts, status {answer.status}: {why}")
        broken = [each for each in found.items if each.state == "broken"]
        if found.truncated and len(broken) == len(found.items):  # broken contracts are listed first
            raise Retry(f"{self._url} has more than {_MOST} broken contracts, so no notices about new ones are sent.")
        return broken

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()
