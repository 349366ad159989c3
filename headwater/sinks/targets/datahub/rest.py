"""Send proposals to DataHub's metadata service, several runs per request; D10 in docs/sinks.md."""

from collections.abc import Sequence

from headwater.common.errors import WrongSetting
from headwater.sinks.connecting.http_options import open_poster
from headwater.sinks.contract.sink_options import SecretResolver
from headwater.sinks.contract.sink_shape import Outcome, Payload
from headwater.sinks.targets.datahub.options import DataHubOptions

_BATCH = "/aspects?action=ingestProposalBatch"
_HEADERS = {"x-restli-protocol-version": "2.0.0"}


class RestEmitter:
    """A connection to one metadata service (GMS)."""

    def __init__(self, given: DataHubOptions, reveal: SecretResolver) -> None:
        """Raise WrongSetting if a secret is missing."""
        named = given.model_copy(update={"headers": {**_HEADERS, **given.headers}})
        self._poster = open_poster(named, reveal)
        self._end = b'],"async":"true"}' if given.asynchronous else b'],"async":"false"}'

    def emit(self, payloads: Sequence[Payload]) -> Outcome:
        """Post the proposals of several runs."""
        body = b'{"proposals":[' + b",".join(payload.body[1:-1] for payload in payloads) + self._end
        return self._poster.post_all(_BATCH, body, len(payloads))

    def check(self) -> str:
        """Identify the service, and post an empty batch, which requires permission to write."""
        found = self._poster.ask("GET", "/config")
        if found.status != 200 or b'"noCode"' not in found.body:
            raise WrongSetting(
                f"GET /config returned status {found.status}: this is not a DataHub metadata service. Correct `url`; "
                "behind DataHub's web page it ends with /api/gms."
            )
        status = self._poster.ask("POST", _BATCH, b'{"proposals":[' + self._end).status
        if status in (401, 403):
            raise WrongSetting(
                f"Posting proposals returned status {status}. Correct `key`, or let its user edit metadata."
            )
        return f"the server responds like DataHub, with status {status} to an empty batch"

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()
