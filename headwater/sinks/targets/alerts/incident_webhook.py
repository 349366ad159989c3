"""Send incidents as JSON to a webhook, signed as the notices of the type `webhook` are."""

from typing import Any, Literal, cast

import msgspec
from pydantic import Field

from headwater.common.errors import WrongSetting
from headwater.events.times import iso_time
from headwater.sinks.connecting.http import Endpoint, Poster, open_poster
from headwater.sinks.interface.options import Options, SecretReference, SecretResolver
from headwater.sinks.interface.shape import Outcome
from headwater.sinks.targets.alerts import target
from headwater.sinks.targets.alerts.options import AlertOptions
from headwater.sinks.targets.alerts.station_state import digest
from headwater.sinks.targets.alerts.target import AlertTarget, Message, Sent, open_alert_target
from headwater.sinks.targets.webhook.target import sign_notices, signing_key

support_table = target.support_table


class IncidentWebhookOptions(Endpoint, AlertOptions):
    """Options of the type `incident-webhook`; messages are posted to exactly this `url`."""

    type: Literal["incident-webhook"]
    secret: SecretReference = Field(description="Secret for signing: `whsec_` and 24 to 64 bytes in base64.")
    compress: Literal[False] = Field(False, description="Not supported, because messages are small.")


OPTIONS = IncidentWebhookOptions


class IncidentWebhook:
    """Posts JSON to one address. A later message about an incident has the incident's id."""

    edits = True

    def __init__(self, poster: Poster, path: str) -> None:
        """path: path of each request below the poster's address."""
        self._poster = poster
        self._path = path

    def render(self, message: Message) -> bytes:
        """Return the body of the request."""
        due, text = message.due, message.text
        newest = max((each.resolved or each.opened for each in due.incidents), default=None)
        data: dict[str, Any] = {
            "title": text.title,
            "incidents": [{"id": each.incident, "title": each.title} for each in due.entries],
            "link": text.link,
        }
        if len(due.incidents) == len(due.entries) == 1:
            data["incident"] = due.incidents[0]
        return msgspec.json.encode(
            {
                "type": f"incident.{due.kind}",
                "id": f"msg_{digest(due.id)}",
                "timestamp": newest or iso_time(due.entries[0].opened_us),
                "data": data,
            }
        )

    def send(self, message: Message) -> Sent | Outcome:
        """Post a message."""
        return self._post(self.render(message), message.due.entries[0].incident)

    def send_test(self, _: str) -> Sent | Outcome:
        """Post a message of the type `ping`."""
        return self._post(b'{"type":"ping","id":"msg_ping"}', "")

    def check(self) -> str:
        """Post a message of the type `ping` without content."""
        status = self._poster.request("POST", self._path, b'{"type":"ping","id":"msg_ping"}').status
        if not 200 <= status < 300:
            raise WrongSetting(f"A signed ping returned status {status}. Correct `url`, `secret` or `key`.")
        return f"it responds with status {status} to a signed ping"

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()

    def _post(self, body: bytes, incident: str) -> Sent | Outcome:
        outcome = self._poster.post_all(self._path, body, 1)
        return outcome if outcome.again or outcome.refused else Sent(incident)


def open_target(options: Options, reveal: SecretResolver) -> AlertTarget:
    """Return the target; raises WrongSetting for an invalid secret."""
    given = cast("IncidentWebhookOptions", options)
    poster = open_poster(given, reveal, sign_notices(signing_key(reveal(given.secret))))
    path = "" if "/" in given.url.partition("://")[2].rstrip("/") else "/"
    return open_alert_target(given, IncidentWebhook(poster, path), reveal)
