"""DataHub by its own model: a run becomes metadata change proposals, which its metadata service takes in batches."""

from collections.abc import Sequence
from typing import cast

import msgspec

from headwater.errors import WrongSetting
from headwater.sinks.datahub_holdings import held_by_datahub
from headwater.sinks.datahub_options import DataHubOptions
from headwater.sinks.datahub_proposals import Proposals
from headwater.sinks.earlier_events import History, run_of
from headwater.sinks.http_options import open_poster
from headwater.sinks.http_post import Poster
from headwater.sinks.merged_event import merged
from headwater.sinks.sink_options import Options, Reveal
from headwater.sinks.sink_shape import Outcome, Payload, SinkEvent

OPTIONS = DataHubOptions
holdings = held_by_datahub

_BATCH = "/aspects?action=ingestProposalBatch"
_HEADERS = {"x-restli-protocol-version": "2.0.0"}
_MOST_BYTES = 15_000_000
"""Of a request; DataHub's own client keeps to it, as its service takes 16,000,000."""


class DataHubTarget:
    """One metadata service (GMS)."""

    largest = 20

    def __init__(self, poster: Poster, options: DataHubOptions) -> None:
        """Connect to nothing yet."""
        self._poster = poster
        self._proposals = Proposals(options)
        self._end = b'],"async":"true"}' if options.asynchronous else b'],"async":"false"}'

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of which nothing came before."""
        return self.convert_runs(events, {})

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return the proposals of each run, job and dataset, as a JSON list, at the place of its last event."""
        groups: dict[str, list[SinkEvent]] = {}
        for event in events:
            key = run_of(event.head) or event.head.event_id
            before = [each for each in history.get(event.head.run_id or "", ()) if run_of(each.head) == key]
            groups[key] = group = groups.pop(key, before)  # behind the others: its last event is behind theirs
            group.append(event)
        return [payload for of_one in groups.values() if (payload := self._payload(of_one))]

    def _payload(self, events: Sequence[SinkEvent]) -> Payload | None:
        if not (proposals := self._proposals.of(merged(events))):
            return None
        body = msgspec.json.encode(proposals)
        size = len(body)
        unfit = f"{size} bytes of proposals; DataHub takes {_MOST_BYTES}" if size > _MOST_BYTES else None
        return Payload(events[-1], body, unfit)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Post the proposals of several runs in one request."""
        body = b'{"proposals":[' + b",".join(payload.body[1:-1] for payload in payloads) + self._end
        answer = self._poster.post(_BATCH, body, len(payloads))
        return answer if isinstance(answer, Outcome) else Outcome()

    def check(self) -> str:
        """Ask what it is, and post no proposal at all: whoever may write may do that."""
        found = self._poster.ask("GET", "/config")
        if found.status != 200 or b'"noCode"' not in found.body:
            raise WrongSetting(
                f"It answers {found.status} to GET /config: this is no metadata service of DataHub. Correct `url`; "
                "behind DataHub's page it ends with /api/gms."
            )
        status = self._poster.ask("POST", _BATCH, b'{"proposals":[' + self._end).status
        if status in (401, 403):
            raise WrongSetting(f"It answers {status} to proposals. Correct `key`, or let its user edit metadata.")
        return f"it answers as DataHub does, and {status} to an empty batch"

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


def open_target(options: Options, reveal: Reveal) -> DataHubTarget:
    """Open a metadata service."""
    given = cast("DataHubOptions", options)
    named = given.model_copy(update={"headers": {**_HEADERS, **given.headers}})
    return DataHubTarget(open_poster(named, reveal), given)
