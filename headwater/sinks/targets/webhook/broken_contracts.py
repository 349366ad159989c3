"""Which contracts are broken: asked of a Headwater over HTTP, as anybody may ask it (docs/contracts.md)."""

import hashlib
from urllib.parse import urlencode

import msgspec

from headwater.errors import Retry
from headwater.sinks.connecting.http_post import Poster

_MOST = 10_000
"""Contracts that the question answers with at most."""
_MOST_BYTES = 64 << 20


class ContractBreach(msgspec.Struct):
    """A promise that is not kept, and what broke it, as the question answers with it."""

    kind: str
    dataset: str
    column: str | None
    message: str
    run: str | None
    time: str | None
    job: dict[str, str] | None
    warning: bool = False


class BrokenContract(msgspec.Struct):
    """A file of contracts of which something is broken."""

    file: str
    dataset: str | None
    version: str | None
    state: str
    breaks: list[ContractBreach]

    @property
    def id(self) -> str:
        """Return what tells it from others."""
        return hashlib.sha256(f"contract {self.file}".encode()).hexdigest()[:16]


class _ContractsAnswer(msgspec.Struct):
    items: list[BrokenContract]
    truncated: bool


class BrokenContracts:
    """A connection to one Headwater."""

    def __init__(self, poster: Poster, url: str) -> None:
        """Connect to nothing yet. url: where it is, for messages."""
        self._poster, self._url = poster, url

    def found(self) -> list[BrokenContract]:
        """Return the contracts that are broken: all of them; raises Retry where it does not answer, or not with all."""
        asked = urlencode({"limit": _MOST, "sort": "state"})
        answer = self._poster.ask("GET", f"/api/headwater/v1/contracts?{asked}", most=_MOST_BYTES)
        try:
            found = msgspec.json.decode(answer.body, type=_ContractsAnswer) if answer.status == 200 else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = None
        if found is None:
            why = answer.body[:200].decode("utf-8", "replace").strip()
            raise Retry(f"{self._url} does not say which contracts are broken, status {answer.status}: {why}")
        broken = [each for each in found.items if each.state == "broken"]
        if found.truncated and len(broken) == len(found.items):  # those that are broken come first
            raise Retry(f"{self._url} has more than {_MOST} broken contracts: new ones are not told.")
        return broken

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()
