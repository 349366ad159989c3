"""Slack, Teams and a mail server on loopback, which refuse what the real ones refuse.

Slack (docs.slack.dev): blocks, chat.postMessage, chat.update, incoming webhooks, rate limits. Teams
(learn.microsoft.com): connectors/teams, adaptive-cards/schema-explorer; MicrosoftDocs/msteams-docs issue 11274 on what
it counts as size.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from socket import create_server, socket
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from threading import Thread
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.support.servers.sink_target import Asked, Said, SinkServer, sink_server

TOKEN = "xoxb-token-of-a-bot"
CHANNELS = {"#alerts": "C01", "#finance": "C02"}
_ENTITY = re.compile(r"&(?!amp;|lt;|gt;)")
_LINK = re.compile(r"<https?://[^|>]+\|[^>]*>")


@dataclass
class Slack:
    """Slack's Web API and incoming webhooks: what is wrong with a message is answered as Slack answers it."""

    server: SinkServer
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By their time stamps; a reply has a `thread_ts`."""
    edits: int = 0
    throttled: int = 0
    """How many of the next requests are answered with 429."""
    refuses: dict[str, str] = field(default_factory=dict)
    """Errors by channel."""

    def answer(self, asked: Asked) -> Said:
        if self.throttled:
            self.throttled -= 1
            return Said(429, b"rate_limited", {"retry-after": "1"})
        (body,) = asked.events
        if asked.path.startswith("/services/"):
            return self._webhook(asked.path, body)
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            return _said({"ok": False, "error": "invalid_auth"})
        answer = {"/api/chat.postMessage": self._post, "/api/chat.update": self._update, "/api/auth.test": self._test}
        return _said(answer[asked.path](body))

    def posted(self, *, replies: bool = False) -> list[dict[str, Any]]:
        return [each for each in self.messages.values() if ("thread_ts" in each) == replies]

    def _webhook(self, path: str, body: dict[str, Any]) -> Said:
        if path != "/services/T1/B1/secret-of-a-webhook":
            return Said(404, b"no_service")
        if problem := content_problem(body):
            return Said(400, problem.encode())
        self._keep(body)
        return Said(200, b"ok")

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        channel = CHANNELS.get(body["channel"], body["channel"])
        problem = self.refuses.get(body["channel"]) or content_problem(body)
        if channel not in CHANNELS.values():
            problem = "channel_not_found"
        if "thread_ts" in body and body["thread_ts"] not in self.messages:
            problem = "thread_not_found"
        return {"ok": False, "error": problem} if problem else self._keep(body | {"channel": channel})

    def _update(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["channel"] not in CHANNELS.values():  # names are not enough here
            return {"ok": False, "error": "channel_not_found"}
        if body["ts"] not in self.messages:
            return {"ok": False, "error": "message_not_found"}
        if problem := content_problem(body):
            return {"ok": False, "error": problem}
        self.messages[body["ts"]] |= body
        self.edits += 1
        return {"ok": True, "ts": body["ts"], "channel": body["channel"]}

    def _test(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "team": "Example"}

    def _keep(self, body: dict[str, Any]) -> dict[str, Any]:
        stamp = f"1700000000.{len(self.messages) + 1:06}"
        self.messages[stamp] = dict(body)
        return {"ok": True, "ts": stamp, "channel": body.get("channel", "")}


def _said(answer: Mapping[str, Any]) -> Said:
    return Said(200, json.dumps(answer).encode())


def content_problem(body: Mapping[str, Any]) -> str | None:
    """Return Slack's error for the text and the blocks of a message."""
    blocks, text = body.get("blocks", []), body.get("text", "")
    problems = {
        "no_text": not blocks and not text,
        "msg_too_long": len(text) > 40_000,
        "invalid_blocks": len(blocks) > 50 or not all(map(_is_valid_block, blocks)),
        "msg_blocks_too_long": sum(len(json.dumps(each)) for each in blocks) > 13_000,
    }
    return next((name for name, holds in problems.items() if holds), None)


def _is_valid_block(block: Mapping[str, Any]) -> bool:
    kind, most = {"header": ("plain_text", 150), "section": ("mrkdwn", 3_000)}[block["type"]]
    text = block["text"]
    # Slack accepts markup that a producer forged, and shows it; here it is as wrong as an invalid block
    return text["type"] == kind and 0 < len(text["text"]) <= most and (kind == "plain_text" or is_escaped(text["text"]))


def is_escaped(text: str) -> bool:
    """Tell whether a text has no markup except links with a label, and no half of an escaped character."""
    rest = _LINK.sub("", text)
    return "<" not in rest and ">" not in rest and not _ENTITY.search(rest)


@contextmanager
def slack_server() -> Iterator[Slack]:
    with sink_server() as server:
        slack = Slack(server)
        server.answer = slack.answer
        yield slack


@dataclass
class Teams:
    """A workflow with a webhook trigger, and what Teams makes of the cards."""

    cards: list[dict[str, Any]] = field(default_factory=list)
    throttled: int = 0

    def answer(self, asked: Asked) -> Said:
        if self.throttled:
            self.throttled -= 1
            return Said(429, b'{"error":{"code":"TooManyRequests"}}', {"retry-after": "1"})
        if asked.path != "/workflows/abc/triggers/manual/paths/invoke?api-version=1&sig=secret-of-a-workflow":
            return Said(401, b'{"error":{"code":"DirectApiAuthorizationRequired"}}')
        (body,) = asked.events
        assert (body["type"], len(body["attachments"])) == ("message", 1), "the template loops over attachments"
        attachment = body["attachments"][0]
        assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        card = attachment["content"]
        if len(json.dumps(card, indent=1).encode()) > 28_672:  # stored in its own form
            return Said(400, b"MessageSizeExceeded")
        self.check_card(card)
        self.cards.append(card)
        return Said(202, b"")

    def check_card(self, card: Mapping[str, Any]) -> None:
        assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
        for element in card["body"]:
            assert element["type"] == "RichTextBlock", "other elements show Markdown"
            assert element["inlines"]
            for run in element["inlines"]:
                assert run["type"] == "TextRun"
                assert run["text"]
        for action in card.get("actions", []):
            assert action["type"] == "Action.OpenUrl"
            assert action["url"].startswith("http")


def card_texts(card: Mapping[str, Any]) -> list[str]:
    return ["".join(run["text"] for run in element["inlines"]) for element in card["body"]]


@dataclass
class Mailbox:
    """A mail server that wants TLS and a password."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    refuses: dict[str, str] = field(default_factory=dict)
    """Responses to RCPT by address."""

    async def handle_RCPT(  # noqa: N802 - its name in aiosmtpd
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        if address in self.refuses:
            return self.refuses[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        assert max(map(len, envelope.content.split(b"\r\n"))) <= 998, "RFC 5322, section 2.1.1"
        mail = message_from_bytes(envelope.content, _class=EmailMessage, policy=policy.SMTP)
        assert not mail.defects
        assert mail["To"] == ", ".join(envelope.rcpt_tos)
        self.mails.append(mail)
        return "250 accepted"


@contextmanager
def impatient_mail_server() -> Iterator[tuple[int, list[bytes]]]:
    """Run a mail server that accepts mails and closes the connection at QUIT; yields its port and the mails."""
    mails: list[bytes] = []

    def talk(listener: socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                stream.write(b"220 ready\r\n")
                stream.flush()
                while (line := stream.readline()) and not line.upper().startswith(b"QUIT"):
                    is_data = line.upper().startswith(b"DATA")
                    if is_data:
                        stream.write(b"354 go on\r\n")
                        stream.flush()
                        mails.append(b"".join(iter(stream.readline, b".\r\n")))
                    stream.write(b"250 accepted\r\n")
                    stream.flush()

    with create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=talk, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1], mails


@contextmanager
def mail_server(certificate: Path, user: str, password: str) -> Iterator[Mailbox]:
    """Run a mail server that offers STARTTLS and accepts one user."""
    mailbox, context = Mailbox(), SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def authenticate(_: SMTP, __: Session, ___: Envelope, ____: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        return AuthResult(success=(data.login, data.password) == (user.encode(), password.encode()))

    with create_server(("127.0.0.1", 0)) as free:
        mailbox.port = free.getsockname()[1]
    controller = Controller(
        mailbox, "127.0.0.1", mailbox.port, tls_context=context, require_starttls=True, authenticator=authenticate,
        auth_required=True,
    )  # fmt: skip
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()
