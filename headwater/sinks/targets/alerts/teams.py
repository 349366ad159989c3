"""Send alerts to Microsoft Teams: an Adaptive Card to a workflow with a webhook trigger.

A workflow returns 202 before it posts the card, and returns no message that could be edited or replied to. Teams
accepts 28,672 bytes, measured after it has stored the card in its own form: a request of 24,453 bytes was refused.
"""

from typing import Any, Literal, Self, cast

import msgspec
from pydantic import Field, model_validator

from headwater.sinks.interface.options import Options, SecretReference, SecretResolver
from headwater.sinks.interface.shape import Outcome
from headwater.sinks.targets.alerts import target
from headwater.sinks.targets.alerts.options import AlertOptions, check_destinations
from headwater.sinks.targets.alerts.posting import SecretAddress, close_addresses, open_addresses
from headwater.sinks.targets.alerts.target import AlertTarget, Message, Sent, open_alert_target
from headwater.sinks.targets.alerts.text import AlertText

support_table = target.support_table

MAX_BYTES = 20_000
"""Maximum size of a card in bytes."""


class TeamsOptions(AlertOptions):
    """Options of the type `teams`."""

    type: Literal["teams"]
    urls: dict[str, SecretReference] = Field(
        min_length=1, description="Addresses of workflows by name; destinations are these names."
    )
    rate: float | None = Field(1.0, gt=0, description="Maximum number of messages per second.")

    @model_validator(mode="after")
    def _check_routes(self) -> Self:
        check_destinations(self.routes, lambda to: None if to in self.urls else "is not a name in `urls`")
        return self


OPTIONS = TeamsOptions


class TeamsWorkflows:
    """Posts cards to workflows."""

    edits = False

    def __init__(self, addresses: dict[str, SecretAddress]) -> None:
        self._addresses = addresses

    def render(self, message: Message) -> bytes:
        """Return the body of the request."""
        return card_body(message.text)

    def send(self, message: Message) -> Sent | Outcome:
        """Post a card."""
        return self._post(message.due.to, self.render(message))

    def send_test(self, to: str) -> Sent | Outcome:
        """Post a test card."""
        about = "Alerts about incidents will arrive here."
        return self._post(
            to, card_body(AlertText("Test message of Headwater", "warning", False, about, "", (), (), ""))
        )

    def check(self) -> str:
        """Return what was checked: a workflow cannot be checked without posting."""
        return f"{len(self._addresses)} workflows, which only `headwater sinks test` can check"

    def close(self) -> None:
        """Close the connections."""
        close_addresses(self._addresses)

    def _post(self, to: str, body: bytes) -> Sent | Outcome:
        outcome = self._addresses[to].post(body)
        return outcome if outcome.again or outcome.refused else Sent()


def open_target(options: Options, reveal: SecretResolver) -> AlertTarget:
    """Return the target; raises WrongSetting if a secret is missing or is not an address."""
    given = cast("TeamsOptions", options)
    addresses = open_addresses(given.urls, reveal, timeout_s=given.timeout, ca=given.ca)
    return open_alert_target(given, TeamsWorkflows(addresses), reveal)


def card_body(text: AlertText) -> bytes:
    """Return a card in the form that workflows expect, at most MAX_BYTES large; later parts are left out first."""
    color = "good" if text.is_resolved else "attention" if text.severity == "error" else "warning"
    parts = [
        _runs((text.summary, False)) if text.summary else None,
        _runs((text.error, False), font="Monospace") if text.error else None,
        *(_runs((f"{label}: ", True), (value, False)) for label, value in text.facts),
        *(_runs((f"• {line}", False)) for line in text.lines),
    ]
    elements = [_title(text.title, color), *(part for part in parts if part)]
    body = _encode(elements, text.link)
    while len(body) > MAX_BYTES and len(elements) > 1:
        elements.pop()
        body = _encode(elements, text.link)
    return body


class _Card(msgspec.Struct):
    """An Adaptive Card."""

    body: list[dict[str, Any]]
    actions: list[dict[str, str]]
    schema: str = msgspec.field(default="http://adaptivecards.io/schemas/adaptive-card.json", name="$schema")
    type: str = "AdaptiveCard"
    version: str = "1.4"
    msteams: dict[str, str] = msgspec.field(default_factory=lambda: {"width": "Full"})


def _encode(elements: list[dict[str, Any]], link: str) -> bytes:
    actions = [{"type": "Action.OpenUrl", "title": "Open in Headwater", "url": link}] if link else []
    card = _Card(elements, actions)
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return msgspec.json.encode({"type": "message", "attachments": [attachment]})


def _title(text: str, color: str) -> dict[str, Any]:
    run = {"type": "TextRun", "text": text, "size": "Large", "weight": "Bolder", "color": color}
    return {"type": "RichTextBlock", "inlines": [run]}


def _runs(*parts: tuple[str, bool], font: str = "Default") -> dict[str, Any]:
    """Return a block of (text, bold). Unlike a TextBlock, it has no Markdown, so no text can forge a link."""
    inlines = [
        {"type": "TextRun", "text": text, "weight": "Bolder" if bold else "Default", "fontType": font}
        for text, bold in parts
    ]
    return {"type": "RichTextBlock", "inlines": inlines}
