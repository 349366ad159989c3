"""Query a Headwater server for incidents and for broken contracts. See docs/reference/incidents.md."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from headwater.common.errors import Retry
from headwater.events.times import iso_time
from headwater.sinks.connecting.headwater_answers import MAX_ITEMS, request_list
from headwater.sinks.connecting.http import Poster
from headwater.sinks.targets.webhook.server import BrokenContract, BrokenContractsClient


class Subject(msgspec.Struct):
    """The job, dataset or namespace of the cause."""

    kind: str
    namespace: str
    name: str
    column: str | None = None
    test: str | None = None
    display_name: str | UnsetType = UNSET


class ErrorText(msgspec.Struct):
    """The error of a failed run. frame: the line of the stack trace that is closest to the failure."""

    message: str
    frame: str | None = None


class FailedRun(msgspec.Struct):
    """A failed run of an incident."""

    id: str
    job: dict[str, Any]
    state: str
    time: str | None = None


class AffectedDataset(msgspec.Struct):
    """A dataset that is not up to date. distance: number of edges from the cause."""

    namespace: str
    dataset: str
    distance: int
    display_name: str | UnsetType = UNSET


class Owner(msgspec.Struct):
    """An owner of the subject or of an affected dataset."""

    name: str
    type: str | None = None


class ReportedIncident(msgspec.Struct):
    """An incident, as in the server's response. kind: any; new servers may add kinds."""

    id: str
    kind: str
    severity: str
    state: str
    subject: Subject
    opened: str
    resolved: str | None
    due: str | None
    summary: str
    error: ErrorText | None
    failures: list[FailedRun]
    failureCount: int  # noqa: N815 - names of the response
    affected: list[AffectedDataset]
    affectedCount: int  # noqa: N815
    owners: list[Owner]
    downstreamOwners: list[Owner] = []  # noqa: N815
    tags: list[str] = []
    downstreamTags: list[str] = []  # noqa: N815
    detected: str | None = None

    @property
    def is_resolved(self) -> bool:
        """Whether its end is known."""
        return self.state == "resolved"


class _IncidentsAnswer(msgspec.Struct):
    items: list[ReportedIncident]
    truncated: bool


class IncidentsClient:
    """Requests incidents and broken contracts from one Headwater server."""

    def __init__(self, poster: Poster, url: str) -> None:
        """url: address of the server, for error messages."""
        self._poster, self._url = poster, url
        self._contracts = BrokenContractsClient(poster, url)

    def fetch(self, since_us: int) -> list[ReportedIncident]:
        """Return all incidents that were open after a moment (us, UTC); raises Retry if the answer is incomplete."""
        query = {"since": iso_time(since_us) or ""}
        found = request_list(self._poster, self._url, "incidents", query, _IncidentsAnswer, content="incidents")
        if found.truncated:
            raise Retry(f"{self._url} has more than {MAX_ITEMS} incidents, so no alerts are sent.")
        return found.items

    def fetch_broken_contracts(self) -> Sequence[BrokenContract]:
        """Return the broken contracts; empty if the server cannot tell, because alerts do not wait for contracts."""
        try:
            return self._contracts.fetch_broken()
        except Retry:
            return ()

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()
