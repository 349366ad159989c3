"""A webhook: a small signed JSON about what people wait for, by the Standard Webhooks specification 1.0.0."""

from collections.abc import Sequence
from typing import Literal, Self, cast

from pydantic import Field, model_validator

from headwater.errors import WrongSetting
from headwater.events.finding_facet import FACET
from headwater.events.stored_cells import StoredHead
from headwater.lineage.runs.lost_runs import LOST_AFTER
from headwater.sinks.connecting.http_options import HttpOptions, open_poster
from headwater.sinks.connecting.http_post import Poster
from headwater.sinks.contract.sink_holdings import Holding, Holdings
from headwater.sinks.contract.sink_options import Options, Pause, Reveal, SecretReference, Silence
from headwater.sinks.contract.sink_shape import WATCH, Outcome, Payload, SinkEvent
from headwater.sinks.merging.earlier_events import SchemaChanges
from headwater.sinks.merging.merged_event import MergedEvent
from headwater.sinks.targets.webhook.broken_contracts import BrokenContract, BrokenContracts
from headwater.sinks.targets.webhook.exposed_columns import ExposedColumn, ExposedColumns, SurfaceAsked
from headwater.sinks.targets.webhook.unreported_notice import is_comparison
from headwater.sinks.targets.webhook.webhook_notices import (
    NoticeKind,
    column_exposed,
    contract_broken,
    run_failed,
    run_lost,
    schema_changed,
    unreported_found,
)
from headwater.sinks.targets.webhook.webhook_signing import signed_with, signing_key

_ENDS = ("FAIL", "ABORT")
_ASKED = frozenset(("column.exposed", "contract.broken"))
"""Notices of what no event says: a Headwater is asked."""

_CONTRACTS = " contracts"
"""Under what contracts are kept beside tags."""


class WebhookOptions(HttpOptions):
    """Options of the type `webhook`; `url` is posted to as it stands."""

    type: Literal["webhook"]
    secret: SecretReference = Field(description="What notices are signed with: `whsec_` and 24 to 64 bytes in base64.")
    notices: tuple[NoticeKind, ...] = Field(
        ("run.failed", "run.lost", "schema.changed", "column.exposed", "contract.broken", "unreported.found"),
        description="What is told.",
    )
    headwater: SurfaceAsked | None = Field(
        None,
        description="Headwater that tells exposed columns and broken contracts: `url`, `tags`, `every`.",
    )
    every: Pause = Field(5.0, description="Least time between two looks.")
    compress: Literal[False] = Field(False, description="Notices are small: never.")

    @property
    def silence(self) -> Silence | None:
        """A run is lost when nothing was heard of it."""
        return Silence(LOST_AFTER.total_seconds(), by_receipt=False) if "run.lost" in self.notices else None

    @property
    def looks_every(self) -> float | None:
        """Exposed columns and broken contracts are asked for."""
        return self.headwater.every if self.headwater and _ASKED.intersection(self.notices) else None

    @model_validator(mode="after")
    def _knows_whom_to_ask(self) -> Self:
        asked = sorted(_ASKED.intersection(self.notices))
        if self.headwater is None and {"notices"} & self.model_fields_set and asked:
            raise ValueError(f"`{asked[0]}` follows from all lineage: add `headwater: {{url: …}}`, which is asked")
        return self


OPTIONS = WebhookOptions


def holdings(options: Options) -> Holdings:
    """Return what notices tell."""
    exposed = (
        Holding("dataset facet", "tags", "part", "tags of columns that became exposed"),
        Holding("value edge", "*", "part", "the last one on the way to a column that became exposed"),
    )
    return (
        *(exposed if options.looks_every else ()),
        Holding("event", "*", "part", "runs that failed or are lost, events that change columns, who did not report"),
        Holding("state", "FAIL", "part", "runs that failed"),
        Holding("state", "ABORT", "part", "runs that failed"),
        Holding("state", "COMPLETE", "part", "runs that changed columns"),
        Holding("written dataset", "*", "part", "datasets with other columns than before"),
        Holding("job facet", FACET, "part", "the newest findings"),
        Holding("nested value", f"job.{FACET}", "part", "the newest findings"),
        Holding("run facet", "errorMessage", "part", "the beginning of its message"),
        Holding("dataset facet", "schema", "part", "columns that came, went or have another type"),
        Holding("missing input", "*", "whole"),
        Holding("*", "*", "not", "it tells of what people wait for, and where to look"),
    )


class WebhookTarget:
    """One address."""

    largest = 1

    def __init__(
        self,
        poster: Poster,
        path: str,
        notices: Sequence[NoticeKind],
        exposed: ExposedColumns | None,
        broken: BrokenContracts | None = None,
    ) -> None:
        """Connect to nothing yet. exposed, broken: what is asked which columns and contracts are so, None for none."""
        self._poster = poster
        self._path = path
        self._notices = notices
        self._exposed = exposed
        self._broken = broken

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of which nothing is known beside them."""
        return self.convert_changes(events, dict)

    def convert_changes(self, events: Sequence[SinkEvent], changes: SchemaChanges) -> list[Payload]:
        """Return a notice of each event that people wait for: none of most."""
        wants_failed, wants_changed = (kind in self._notices for kind in ("run.failed", "schema.changed"))
        tells = any(each.head.kind == "DATASET" or each.head.state == "COMPLETE" for each in events)
        changed = changes() if wants_changed and tells else {}
        found = []
        for event in events:
            if wants_failed and event.head.state in _ENDS:
                found.append(Payload(event, run_failed(event)))
            elif event.head.event_id in changed:
                found.append(Payload(event, schema_changed(event, changed[event.head.event_id])))
            elif "unreported.found" in self._notices and is_comparison(event) and (notice := unreported_found(event)):
                found.append(Payload(event, notice))
        return found

    def convert_lost(self, event: SinkEvent, said: MergedEvent) -> Payload:
        """Return the notice of a run that is lost."""
        return Payload(event, run_lost(event, said))

    def look(self, at_us: int, turn: int) -> dict[str, list[Payload]]:
        """Return the notice of each column that is exposed now, by tag, and of each contract that is broken.

        Raises Retry unless all are known.
        """
        exposed = self._exposed.by_tag() if self._exposed else {}
        found = {tag: [_exposed(tag, each, at_us, turn) for each in columns] for tag, columns in exposed.items()}
        if self._broken:
            found[_CONTRACTS] = [_contract_broken(each, at_us, turn) for each in self._broken.found()]
        return found

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Post one notice."""
        return self._poster.hand_over(self._path, payloads[0].body, 1)

    def check(self) -> str:
        """Post a notice of the kind `ping`, which says nothing."""
        status = self._poster.ask("POST", self._path, b'{"type":"ping","id":"msg_ping"}').status
        if not 200 <= status < 300:
            raise WrongSetting(f"It answers {status} to a signed ping. Correct `url`, `secret` or `key`.")
        found = self._exposed.by_tag() if self._exposed else {}
        counted = (f"{len(columns)} columns with the tag {tag!r} are exposed" for tag, columns in found.items())
        return "; ".join([f"it answers {status} to a signed ping", *counted])

    def close(self) -> None:
        """Close the connections."""
        self._poster.close()
        for each in (self._exposed, self._broken):
            if each:
                each.close()


def _exposed(tag: str, column: ExposedColumn, at_us: int, turn: int) -> Payload:
    """Return a notice in the place of an event of the job that exposes the column."""
    job = column.via.job
    head = StoredHead(at_us, column.id_of(tag), at_us, "RUN", "COMPLETE", None, job["namespace"], job["name"], 0)
    return Payload(SinkEvent(WATCH, head, b""), column_exposed(tag, column, at_us, turn))


def _contract_broken(contract: BrokenContract, at_us: int, turn: int) -> Payload:
    """Return a notice in the place of an event of the job that broke the contract."""
    job = next((each.job for each in contract.breaks if each.job), None) or {"namespace": "", "name": ""}
    head = StoredHead(at_us, contract.id, at_us, "RUN", "COMPLETE", None, job["namespace"], job["name"], 0)
    return Payload(SinkEvent(WATCH, head, b""), contract_broken(contract, at_us, turn))


def open_target(options: Options, reveal: Reveal) -> WebhookTarget:
    """Open an address; raises WrongSetting for a secret that is none."""
    given = cast("WebhookOptions", options)
    bare = given.url.partition("://")[2].rstrip("/")
    poster = open_poster(given, reveal, signed_with(signing_key(reveal(given.secret))))
    asked = given.headwater if given.looks_every is not None else None
    exposed = broken = None
    if asked and "column.exposed" in given.notices:
        exposed = ExposedColumns(open_poster(asked, reveal), asked.url, asked.tags)
    if asked and "contract.broken" in given.notices:
        broken = BrokenContracts(open_poster(asked, reveal), asked.url)
    return WebhookTarget(poster, "" if "/" in bare else "/", given.notices, exposed, broken)
