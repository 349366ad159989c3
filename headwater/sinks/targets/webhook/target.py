"""Send notices to a webhook: small signed JSON, by the Standard Webhooks specification 1.0.0."""

import base64
import binascii
import hmac
import time
from collections.abc import Sequence
from typing import Literal, Self, cast

import msgspec
from pydantic import Field, model_validator

from headwater.common.errors import WrongSetting
from headwater.events.finding_facet import FACET
from headwater.events.stored_cells import StoredHead
from headwater.lineage.runs.lost_runs import LOST_AFTER
from headwater.sinks.connecting.authentication import Headers
from headwater.sinks.connecting.http import HttpOptions, Poster, open_poster
from headwater.sinks.interface.options import Options, Pause, SecretReference, SecretResolver, Silence
from headwater.sinks.interface.shape import WATCH, Outcome, Payload, SinkEvent
from headwater.sinks.interface.support import ItemSupport, SupportTable
from headwater.sinks.merging.payloads import SchemaChanges
from headwater.sinks.merging.runs import MergedEvent
from headwater.sinks.targets.webhook.notices import (
    NoticeKind,
    column_exposed_notice,
    contract_broken_notice,
    is_comparison,
    run_failed_notice,
    run_lost_notice,
    schema_changed_notice,
    unreported_found_notice,
)
from headwater.sinks.targets.webhook.server import (
    BrokenContract,
    BrokenContractsClient,
    ExposedColumn,
    ExposedColumnsClient,
    HeadwaterServer,
)

_ENDS = ("FAIL", "ABORT")
_POLLED = frozenset(("column.exposed", "contract.broken"))
"""Kinds of notices about facts that no event reports; the sink queries a Headwater server for these facts."""
_CONTRACTS = " contracts"
"""Key for the contracts in the stored poll state, in which all other keys are tags."""


class WebhookOptions(HttpOptions):
    """Options of the type `webhook`; notices are posted to exactly this `url`."""

    type: Literal["webhook"]
    secret: SecretReference = Field(description="Secret for signing notices: `whsec_` and 24 to 64 bytes in base64.")
    notices: tuple[NoticeKind, ...] = Field(
        ("run.failed", "run.lost", "schema.changed", "column.exposed", "contract.broken", "unreported.found"),
        description="Kinds of notices to send.",
    )
    headwater: HeadwaterServer | None = Field(
        None,
        description="Headwater server to query for exposed columns and broken contracts: `url`, `tags`, `every`.",
    )
    every: Pause = Field(5.0, description="Minimum time between two batches.")
    compress: Literal[False] = Field(False, description="Not supported, because notices are small.")

    @property
    def silence(self) -> Silence | None:
        """Report a run as lost after this silence."""
        return Silence(LOST_AFTER.total_seconds(), by_receipt=False) if "run.lost" in self.notices else None

    @property
    def poll_interval_s(self) -> float | None:
        """Seconds between two queries for exposed columns and broken contracts."""
        return self.headwater.every if self.headwater and _POLLED.intersection(self.notices) else None

    @model_validator(mode="after")
    def _check_has_server(self) -> Self:
        asked = sorted(_POLLED.intersection(self.notices))
        if self.headwater is None and {"notices"} & self.model_fields_set and asked:
            raise ValueError(f"`{asked[0]}` needs a Headwater server to query: add `headwater: {{url: …}}`")
        return self


OPTIONS = WebhookOptions


def support_table(options: Options) -> SupportTable:
    """Return what notices can represent."""
    exposed = (
        ItemSupport("dataset facet", "tags", "part", "tags of columns that became exposed"),
        ItemSupport("value edge", "*", "part", "the last edge on the path to a column that became exposed"),
    )
    return (
        *(exposed if options.poll_interval_s else ()),
        ItemSupport("event", "*", "part", "failed and lost runs, events that change columns, missing reports"),
        ItemSupport("state", "FAIL", "part", "failed runs"),
        ItemSupport("state", "ABORT", "part", "failed runs"),
        ItemSupport("state", "COMPLETE", "part", "runs that changed columns"),
        ItemSupport("written dataset", "*", "part", "datasets whose columns changed"),
        ItemSupport("job facet", FACET, "part", "the newest findings"),
        ItemSupport("nested value", f"job.{FACET}", "part", "the newest findings"),
        ItemSupport("run facet", "errorMessage", "part", "the start of its message"),
        ItemSupport("dataset facet", "schema", "part", "columns that were added, removed or have a new type"),
        ItemSupport("missing input", "*", "whole"),
        ItemSupport("*", "*", "not", "notices contain only what happened and where to look"),
    )


class WebhookTarget:
    """A target that posts to one address."""

    largest = 1

    def __init__(
        self,
        poster: Poster,
        path: str,
        notices: Sequence[NoticeKind],
        exposed: ExposedColumnsClient | None,
        broken: BrokenContractsClient | None = None,
    ) -> None:
        """path: path of each request below the poster's address. notices: kinds of notices to send.

        exposed, broken: clients for exposed columns and broken contracts, or None to send no such notices.
        """
        self._poster = poster
        self._path = path
        self._notices = notices
        self._exposed = exposed
        self._broken = broken

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events to notices, without notices about schema changes."""
        return self.convert_changes(events, dict)

    def convert_changes(self, events: Sequence[SinkEvent], changes: SchemaChanges) -> list[Payload]:
        """Return the notices of events; most events have none."""
        wants_failed, wants_changed = (kind in self._notices for kind in ("run.failed", "schema.changed"))
        may_change = any(each.head.kind == "DATASET" or each.head.state == "COMPLETE" for each in events)
        changed = changes() if wants_changed and may_change else {}
        found = []
        for event in events:
            if wants_failed and event.head.state in _ENDS:
                found.append(Payload(event, run_failed_notice(event)))
            elif event.head.event_id in changed:
                found.append(Payload(event, schema_changed_notice(event, changed[event.head.event_id])))
            elif (
                "unreported.found" in self._notices
                and is_comparison(event)
                and (notice := unreported_found_notice(event))
            ):
                found.append(Payload(event, notice))
        return found

    def convert_lost(self, event: SinkEvent, run: MergedEvent) -> Payload:
        """Return the notice of a lost run."""
        return Payload(event, run_lost_notice(event, run))

    def poll(self, at_us: int, turn: int) -> dict[str, list[Payload]]:
        """Return the notices of all exposed columns, by tag, and of all broken contracts.

        Raises Retry if a list is incomplete.
        """
        exposed = self._exposed.fetch_by_tag() if self._exposed else {}
        found = {
            tag: [_exposed_payload(tag, each, at_us, turn) for each in columns] for tag, columns in exposed.items()
        }
        if self._broken:
            found[_CONTRACTS] = [_contract_broken_payload(each, at_us, turn) for each in self._broken.fetch_broken()]
        return found

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Post one notice."""
        return self._poster.post_all(self._path, payloads[0].body, 1)

    def check(self) -> str:
        """Post a notice of the type `ping` without content."""
        status = self._poster.request("POST", self._path, b'{"type":"ping","id":"msg_ping"}').status
        if not 200 <= status < 300:
            raise WrongSetting(f"A signed ping returned status {status}. Correct `url`, `secret` or `key`.")
        found = self._exposed.fetch_by_tag() if self._exposed else {}
        counted = (f"{len(columns)} columns with the tag {tag!r} are exposed" for tag, columns in found.items())
        return "; ".join([f"it responds with status {status} to a signed ping", *counted])

    def close(self) -> None:
        """Close the connections."""
        self._poster.close()
        for each in (self._exposed, self._broken):
            if each:
                each.close()


def _exposed_payload(tag: str, column: ExposedColumn, at_us: int, turn: int) -> Payload:
    """Return the notice, with a COMPLETE event of the job that exposes the column, so that the filter can match."""
    job = column.via.job
    head = StoredHead(at_us, column.id_with_tag(tag), at_us, "RUN", "COMPLETE", None, job["namespace"], job["name"], 0)
    return Payload(SinkEvent(WATCH, head, b""), column_exposed_notice(tag, column, at_us, turn))


def _contract_broken_payload(contract: BrokenContract, at_us: int, turn: int) -> Payload:
    """Return the notice, with a COMPLETE event of the job that broke the contract, so that the filter can match."""
    job = next((each.job for each in contract.breaks if each.job), None) or {"namespace": "", "name": ""}
    head = StoredHead(at_us, contract.id, at_us, "RUN", "COMPLETE", None, job["namespace"], job["name"], 0)
    return Payload(SinkEvent(WATCH, head, b""), contract_broken_notice(contract, at_us, turn))


def open_target(options: Options, reveal: SecretResolver) -> WebhookTarget:
    """Return the target; raises WrongSetting for an invalid secret."""
    given = cast("WebhookOptions", options)
    bare = given.url.partition("://")[2].rstrip("/")
    poster = open_poster(given, reveal, sign_notices(signing_key(reveal(given.secret))))
    asked = given.headwater if given.poll_interval_s is not None else None
    exposed = broken = None
    if asked and "column.exposed" in given.notices:
        exposed = ExposedColumnsClient(open_poster(asked, reveal), asked.url, asked.tags)
    if asked and "contract.broken" in given.notices:
        broken = BrokenContractsClient(open_poster(asked, reveal), asked.url)
    return WebhookTarget(poster, "" if "/" in bare else "/", given.notices, exposed, broken)


class _Notice(msgspec.Struct):
    id: str


def sign_notices(key: bytes) -> Headers:
    """Return a function that returns the signature headers of a notice.

    The signature is an HMAC-SHA256 of the notice's id, the time of sending (s) and the body.
    """

    def headers(_: str, __: str, body: bytes | None) -> dict[str, str]:
        notice, sent = body or b"", str(int(time.time()))
        name = msgspec.json.decode(notice, type=_Notice).id
        digest = hmac.digest(key, f"{name}.{sent}.".encode() + notice, "sha256")
        signature = f"v1,{base64.b64encode(digest).decode()}"
        return {"webhook-id": name, "webhook-timestamp": sent, "webhook-signature": signature}

    return headers


def signing_key(secret: str) -> bytes:
    """Decode a secret to a signing key; raises WrongSetting if the secret is not valid."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not 24 <= len(key) <= 64:
        raise WrongSetting(
            "`secret` is not `whsec_` followed by 24 to 64 bytes in base64. Create one: "
            "`python -c \"import base64, os; print('whsec_' + base64.b64encode(os.urandom(32)).decode())\"`."
        )
    return key
