"""Proposals to DataHub's metadata service, those of several runs in one request; D10 of docs/sinks.md."""

from collections.abc import Sequence

from headwater.errors import WrongSetting
from headwater.sinks.connecting.http_options import open_poster
from headwater.sinks.contract.sink_options import Reveal
from headwater.sinks.contract.sink_shape import Outcome, Payload
from headwater.sinks.targets.datahub.datahub_options import DataHubOptions

_BATCH = "/aspects?action=ingestProposalBatch"
_HEADERS = {"x-restli-protocol-version": "2.0.0"}


class RestEmitter:
    """One metadata service (GMS)."""

    def __init__(self, given: DataHubOptions, reveal: Reveal) -> None:
        """Connect to nothing yet; raises WrongSetting while a secret is missing."""
        named = given.model_copy(update={"headers": {**_HEADERS, **given.headers}})
        self._poster = open_poster(named, reveal)
        self._end = b'],"async":"true"}' if given.asynchronous else b'],"async":"false"}'

    def emit(self, payloads: Sequence[Payload]) -> Outcome:
        """Post the proposals of several runs."""
        body = b'{"proposals":[' + b",".join(payload.body[1:-1] for payload in payloads) + self._end
        return self._poster.hand_over(_BATCH, body, len(payloads))

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
