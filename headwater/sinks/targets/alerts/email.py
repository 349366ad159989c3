"""Send alerts by e-mail over SMTP.

Mails about one incident are threaded through Message-ID, In-Reply-To and References.
"""

import smtplib
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import Literal, NamedTuple, Self, cast

from pydantic import Field, model_validator

from headwater.common.errors import Retry
from headwater.common.http_connection import ssl_context
from headwater.sinks.interface.error_isolation import escape_control_characters
from headwater.sinks.interface.options import Options, SecretReference, SecretResolver
from headwater.sinks.interface.shape import Outcome, retry_all
from headwater.sinks.targets.alerts import target
from headwater.sinks.targets.alerts.options import AlertOptions, check_destinations
from headwater.sinks.targets.alerts.station_state import digest
from headwater.sinks.targets.alerts.target import AlertTarget, Later, Message, Sent, open_alert_target
from headwater.sinks.targets.alerts.text import plain_text

support_table = target.support_table

Security = Literal["starttls", "tls", "none"]
_SUBJECT = 200
"""Maximum number of characters of a subject; a header line has at most 998."""


class EmailOptions(AlertOptions):
    """Options of the type `email`."""

    type: Literal["email"]
    server: str = Field(pattern=r"^[\w.:-]+$", description="Host of the SMTP server.")
    port: int = Field(587, gt=0, lt=65536, description="Port of the SMTP server.")
    security: Security = Field("starttls", description="Encryption; `none` is for a server on this machine.")
    user: str | None = Field(None, description="User name, if the server requires one.")
    password: SecretReference | None = Field(None, description="Password of `user`.")
    sender: str = Field(description="Address of the sender.")

    @model_validator(mode="after")
    def _check_addresses(self) -> Self:
        if problem := _address_fault(self.sender):
            raise ValueError(f"`sender` {problem}")
        if (self.user is None) != (self.password is None):
            raise ValueError("`user` and `password` belong together; add the missing one")
        if self.user is not None and self.security == "none":
            raise ValueError("a password needs encryption: set `security` to `starttls` or `tls`")
        check_destinations(self.routes, _address_fault)
        return self


OPTIONS = EmailOptions


def _address_fault(text: str) -> str | None:
    try:
        address = Address(addr_spec=text)
    except (ValueError, IndexError):
        return "is not an e-mail address"
    return None if address.domain and address.username else "is not an e-mail address"


class _Account(NamedTuple):
    user: str
    password: str


class EmailChannel:
    """Sends one mail to each recipient, over a new connection."""

    edits = False

    def __init__(self, options: EmailOptions, account: _Account | None, context: ssl.SSLContext) -> None:
        self._options = options
        self._account = account
        self._context = context

    def render(self, message: Message) -> bytes:
        """Return the mail; the mail that is sent has the date of sending."""
        return self._mail(message).as_bytes()

    def send(self, message: Message) -> Sent | Later | Outcome:
        """Send a mail; its Message-ID follows from the incident, so a repeated mail has the same one."""
        mail = self._mail(message)
        outcome = self._send(mail, message.due.to)
        return outcome or Sent(str(mail["Message-ID"]))

    def send_test(self, to: str) -> Sent | Later | Outcome:
        """Send a test mail."""
        mail = self._new_mail(to, "Test message of Headwater", f"<test-{time.time_ns()}@{self._domain}>")
        mail.set_content("Alerts about incidents will arrive here.\n")
        return self._send(mail, to) or Sent()

    def check(self) -> str:
        """Connect and authenticate."""
        try:
            with self._connection() as connection:
                connection.noop()
        except (OSError, smtplib.SMTPException) as error:
            raise Retry(f"{self._options.server} does not accept mail: {_describe(error)}") from error
        return f"{self._options.server} accepts the connection" + (" and the password" if self._account else "")

    def close(self) -> None:
        """Do nothing: each mail has its own connection."""

    @property
    def _domain(self) -> str:
        return self._options.sender.rpartition("@")[2]

    def _mail(self, message: Message) -> EmailMessage:
        due, text = message.due, message.text
        own = f"<{digest(due.id, due.to)}.{due.entries[0].incident}.headwater@{self._domain}>"
        first = due.entries[0].title if due.reference and len(due.entries) == 1 else None
        mail = self._new_mail(due.to, f"Re: {first}" if first else text.title, own)
        if due.reference:
            mail["In-Reply-To"] = due.reference
            mail["References"] = due.reference
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(f"{plain_text(text)}\n", cte="quoted-printable")
        return mail

    def _new_mail(self, to: str, subject: str, message_id: str) -> EmailMessage:
        mail = EmailMessage(policy=SMTP)
        mail["From"] = Address(addr_spec=self._options.sender)
        mail["To"] = Address(addr_spec=to)
        mail["Subject"] = escape_control_characters(subject)[:_SUBJECT]
        mail["Date"] = formatdate()
        mail["Message-ID"] = message_id
        return mail

    def _send(self, mail: EmailMessage, to: str) -> Later | Outcome | None:
        """Send a mail; returns the outcome of a failure, None if the server accepted the mail."""
        try:
            with self._connection() as connection:
                connection.send_message(mail, self._options.sender, [to])
        except smtplib.SMTPRecipientsRefused as error:
            code, reason = error.recipients[to]
            return _failure(code, reason) if code >= 500 else Later(_response(code, reason))
        except smtplib.SMTPAuthenticationError as error:
            return retry_all(1, _describe(error))
        except smtplib.SMTPSenderRefused as error:
            return retry_all(1, _describe(error))
        except smtplib.SMTPResponseException as error:
            return _failure(error.smtp_code, error.smtp_error)
        except (OSError, smtplib.SMTPException) as error:
            return retry_all(1, f"{self._options.server} did not accept the mail: {_describe(error)}")
        return None

    @contextmanager
    def _connection(self) -> Iterator[smtplib.SMTP]:
        """Open a connection, encrypt it and log in."""
        options = self._options
        if options.security == "tls":
            connection: smtplib.SMTP = smtplib.SMTP_SSL(
                options.server, options.port, timeout=options.timeout, context=self._context
            )
        else:
            connection = smtplib.SMTP(options.server, options.port, timeout=options.timeout)
        try:
            if options.security == "starttls":
                connection.starttls(context=self._context)
            if self._account:
                connection.login(*self._account)
            yield connection
            with suppress(OSError, smtplib.SMTPException):  # the server has accepted the mail: do not repeat it
                connection.quit()
        finally:
            connection.close()


def open_target(options: Options, reveal: SecretResolver) -> AlertTarget:
    """Return the target; raises WrongSetting if a secret is missing."""
    given = cast("EmailOptions", options)
    account = _Account(given.user, reveal(given.password)) if given.user and given.password else None
    context = ssl_context(given.ca, ())
    return open_alert_target(given, EmailChannel(given, account, context), reveal)


def _failure(code: int, text: bytes | str) -> Outcome:
    """Return the outcome of a response: 4xx is temporary, 5xx refuses the mail (RFC 5321, section 4.2.1)."""
    reason = _response(code, text)
    return Outcome(refused={0: reason}) if code >= 500 else retry_all(1, reason)


def _response(code: int, text: bytes | str) -> str:
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"SMTP status {code}: {escape_control_characters(shown[:300])}"


def _describe(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return _response(error.smtp_code, error.smtp_error)
    return escape_control_characters(str(error)[:300]) or type(error).__name__
