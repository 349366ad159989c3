"""Send alerts to Slack: by incoming webhooks, or with a bot token by chat.postMessage and chat.update.

With a token, an incident is one message that is edited when the incident changes, and its end is a reply in the thread
of this message. Slack's limits: 50 blocks in a message, 150 characters in a header, 3,000 in a section's text, and
about 13,000 in all blocks. A message to a channel each second.
"""

from typing import Any, Literal, Self, cast

import msgspec
from pydantic import Field, model_validator

from headwater.common.errors import WrongSetting
from headwater.sinks.connecting.http import Poster, failure_outcome
from headwater.sinks.interface.error_isolation import escape_control_characters
from headwater.sinks.interface.options import BARE_ADDRESS, Options, SecretReference, SecretResolver
from headwater.sinks.interface.shape import Outcome, retry_all
from headwater.sinks.targets.alerts import target
from headwater.sinks.targets.alerts.options import AlertOptions, check_destinations
from headwater.sinks.targets.alerts.posting import SecretAddress, close_addresses, open_addresses
from headwater.sinks.targets.alerts.target import AlertTarget, Message, Sent, open_alert_target
from headwater.sinks.targets.alerts.text import AlertText, clip, plain_text

support_table = target.support_table

_HEADER, _SECTION, _BLOCKS, _FALLBACK = 150, 2_900, 9_000, 3_000
"""Maximum number of characters of a header, of a section, of all sections, and of the text for notifications."""
_REFUSED = frozenset({
    "msg_too_long", "msg_blocks_too_long", "invalid_blocks", "invalid_blocks_format", "no_text", "channel_not_found",
    "not_in_channel", "is_archived", "restricted_action", "channel_is_limited_access", "cannot_reply_to_message",
    "thread_not_found",
})  # fmt: skip
"""Errors of the message or of its channel: the message becomes a dead letter, and other channels go on."""
_ACCESS = frozenset({
    "not_authed", "invalid_auth", "account_inactive", "token_revoked", "token_expired", "missing_scope",
    "no_permission", "org_login_required", "ekm_access_denied", "team_access_not_granted", "ratelimited",
    "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org",
})  # fmt: skip
"""Errors of the token, of load or of Slack. Other errors may concern only one message or channel."""
_NOT_EDITABLE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})


class SlackOptions(AlertOptions):
    """Options of the type `slack`."""

    type: Literal["slack"]
    token: SecretReference | None = Field(
        None, description="Bot token with the scope `chat:write`; destinations are then channels."
    )
    urls: dict[str, SecretReference] = Field(
        {}, description="Incoming webhooks by name, instead of `token`; destinations are then these names."
    )
    api: str = Field("https://slack.com/api", pattern=BARE_ADDRESS, description="Address of Slack's Web API.")
    rate: float | None = Field(1.0, gt=0, description="Maximum number of messages per second.")

    @model_validator(mode="after")
    def _check_access(self) -> Self:
        if (self.token is None) == (not self.urls):
            raise ValueError("add either `token: {env: …}` or `urls: {NAME: {env: …}}`")
        check_destinations(self.routes, self._destination_fault)
        return self

    def _destination_fault(self, to: str) -> str | None:
        return "is not a name in `urls`" if self.urls and to not in self.urls else None


OPTIONS = SlackOptions


class SlackWebhooks:
    """Posts to incoming webhooks, which return no message that could be edited or replied to."""

    edits = False

    def __init__(self, addresses: dict[str, SecretAddress]) -> None:
        self._addresses = addresses

    def render(self, message: Message) -> bytes:
        """Return the body of the request."""
        return msgspec.json.encode(_content(message.text))

    def send(self, message: Message) -> Sent | Outcome:
        """Post a message."""
        return self._post(message.due.to, self.render(message))

    def send_test(self, to: str) -> Sent | Outcome:
        """Post a test message."""
        return self._post(to, msgspec.json.encode(_TEST))

    def check(self) -> str:
        """Return what was checked: an incoming webhook cannot be checked without posting."""
        return f"{len(self._addresses)} incoming webhooks, which only `headwater sinks test` can check"

    def close(self) -> None:
        """Close the connections."""
        close_addresses(self._addresses)

    def _post(self, to: str, body: bytes) -> Sent | Outcome:
        outcome = self._addresses[to].post(body)
        return outcome if outcome.again or outcome.refused else Sent()


class _Reply(msgspec.Struct):
    """A response of the Web API."""

    ok: bool
    error: str = ""
    ts: str = ""
    channel: str = ""
    team: str = ""


class SlackApi:
    """Posts and edits messages by the Web API."""

    edits = True

    def __init__(self, poster: Poster) -> None:
        self._poster = poster

    def render(self, message: Message) -> bytes:
        """Return the body of the first request; that of an edit has `ts`, that of a reply `thread_ts`, too."""
        return msgspec.json.encode({"channel": message.due.place or message.due.to, **_content(message.text)})

    def send(self, message: Message) -> Sent | Outcome:
        """Post a message, edit it, or edit it and reply to it."""
        due = message.due
        if due.reference and (due.kind == "changed" or not due.entries[0].is_summarised):
            edited = self._call("chat.update", {"channel": due.place, "ts": due.reference, **_content(message.text)})
            if isinstance(edited, Outcome) or due.kind == "changed":
                return edited
        if due.reference:
            facts = tuple(each for each in message.text.facts if each[0] == "Resolved")
            short = _content(message.text._replace(error="", facts=facts))
            return self._call("chat.postMessage", {"channel": due.place, "thread_ts": due.reference, **short})
        return self._call("chat.postMessage", {"channel": due.to, **_content(message.text)})

    def send_test(self, to: str) -> Sent | Outcome:
        """Post a test message."""
        return self._call("chat.postMessage", {"channel": to, **_TEST})

    def check(self) -> str:
        """Check the token."""
        answer = self._poster.request("POST", "/auth.test", b"{}")
        reply = _decode(answer.body)
        if reply is None or not reply.ok:
            error = escape_control_characters(reply.error[:100]) if reply else f"status {answer.status}"
            raise WrongSetting(f"Slack did not accept the token ({error}). Correct `token`.")
        return f"the token belongs to the workspace {reply.team}"

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()

    def _call(self, method: str, arguments: dict[str, Any]) -> Sent | Outcome:
        answer = self._poster.post(f"/{method}", msgspec.json.encode(arguments), 1)
        if isinstance(answer, Outcome):
            return answer
        reply = _decode(answer.body)
        if reply is None:
            return failure_outcome(answer._replace(status=502), 1)
        if reply.ok or (method == "chat.update" and reply.error in _NOT_EDITABLE):
            return Sent(reply.ts, reply.channel)
        reason = f"Slack: {reply.error}"
        if reply.error in _REFUSED:
            return Outcome(refused={0: reason})
        return retry_all(1, reason, blames_event=reply.error not in _ACCESS)


def open_target(options: Options, reveal: SecretResolver) -> AlertTarget:
    """Return the target; raises WrongSetting if a secret is missing or is not an address."""
    given = cast("SlackOptions", options)
    if given.token:
        headers = {"authorization": f"Bearer {reveal(given.token)}"}
        poster = Poster(given.api, lambda *_: headers, timeout_s=given.timeout, ca=given.ca, compress=False)
        return open_alert_target(given, SlackApi(poster), reveal)
    addresses = open_addresses(given.urls, reveal, timeout_s=given.timeout, ca=given.ca)
    return open_alert_target(given, SlackWebhooks(addresses), reveal)


def _content(text: AlertText) -> dict[str, Any]:
    """Return the text for notifications and the blocks of a message."""
    blocks: list[dict[str, Any]] = [_header(text.title)]
    sections = [
        _escape(text.summary),
        f"```{_escape(text.error).replace('```', '` ` `')}```" if text.error else "",
        "\n".join(f"• {_escape(line)}" for line in text.lines),
        "\n".join(f"*{label}:* {_escape(value)}" for label, value in text.facts),
        f"<{_escape(text.link).replace('|', '%7C')}|Open in Headwater>" if text.link else "",
    ]
    left = _BLOCKS - len(sections[-1])  # a link without its end would be shown as text
    for section in filter(None, sections):
        left += len(section) if section is sections[-1] else 0
        is_code = section.startswith("```")
        shown = _clip_escaped(section, min(_SECTION, left), "```" if is_code else "")
        left -= len(shown)
        if shown:
            blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": shown, "verbatim": True}})
    fallback = clip(plain_text(text._replace(facts=(), error="", lines=())), _FALLBACK)
    return {"text": _clip_escaped(_escape(fallback), _FALLBACK, ""), "blocks": blocks, "unfurl_links": False}


def _header(title: str) -> dict[str, Any]:
    return {"type": "header", "text": {"type": "plain_text", "text": clip(title, _HEADER), "emoji": False}}


def _escape(text: str) -> str:
    """Escape the characters that start mentions and links, such as `<!channel>`."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _clip_escaped(text: str, most: int, end: str) -> str:
    """Shorten a text without cutting an escaped character. end: suffix of a shortened text."""
    if len(text) <= most:
        return text
    cut = text[: max(0, most - len(end) - 1)]
    ampersand = cut.rfind("&", -5)
    if ampersand >= 0 and ";" not in cut[ampersand:]:
        cut = cut[:ampersand]
    return f"{cut}…{end}" if cut else ""


def _decode(body: bytes) -> _Reply | None:
    try:
        return msgspec.json.decode(body, type=_Reply)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


_TEST = _content(
    AlertText("Test message of Headwater", "warning", False, "Alerts about incidents will arrive here.", "", (), (), "")
)
