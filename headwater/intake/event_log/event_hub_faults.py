"""Explains errors of an event hub by kind, cause and fix, without secrets."""

import logging
import re
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

from azure.core.exceptions import AzureError
from azure.eventhub.exceptions import AuthenticationError, EventHubError, OperationTimeoutError

from headwater.intake.event_log.event_hub_clients import HubAddress

SAY_AGAIN_S = 60.0
CALM_S = 5.0

log = logging.getLogger(__name__)


class FaultKind(Enum):
    """Kinds of fault. The value is the message, with cause and fix."""

    LATE = "The {hub} did not answer in time. Send the event again, and check the metrics of the hub."
    THROTTLED = "The {hub} is throttled: the load exceeds its throughput units. Add units, or enable auto-inflate."
    ROLE = "The {hub} does not allow this identity to {does}. Assign the role {role!r} on the hub."
    NO_HUB = "There is no {hub}. Correct `hub_name`, or create the hub."
    IDENTITY = (
        "There is no token for the {hub}: {why}. Assign a managed identity to this app, or set `identity_client_id`."
    )
    REFUSED = (
        "The {hub} rejects the token: {why}. Renew the key in `hub_connection`, check that its policy allows to "
        "{does}, and check the clock of this machine."
    )
    LOST = (
        "The {hub} cannot be reached, or closed the connection: {why}. Check its address (`hub_namespace`), DNS and "
        "the firewall (port 5671)."
    )
    OTHER = "The {hub} failed: {why}. Headwater tries again with the next event."


@dataclass(frozen=True, slots=True)
class HubFault:
    """A fault and its message."""

    kind: FaultKind
    message: str


_ROLES = {"send": "Azure Event Hubs Data Sender", "receive": "Azure Event Hubs Data Receiver"}

_LOST = re.compile("socket-error|link:|connection:|session:")
_SECRETS = re.compile(
    r"(?i)(sharedaccesskey(?:name)?=|sharedaccesssignature[= ]|\bsig=|\bskn=|bearer |\beyJ)[^\s;&'\"]*"
)


def explain_fault(error: BaseException, address: HubAddress, operation: str) -> HubFault:
    """Explain an exception of the SDK. operation: the failed operation, `send` or `receive`."""
    kind = _fault_kind(error, address)
    hub = f"event hub {address.name!r} at {address.host}"
    return HubFault(
        kind,
        kind.value.format(
            hub=hub, does=operation, role=_ROLES[operation], why=_message_without_secrets(error, address)
        ),
    )


def _fault_kind(error: BaseException, address: HubAddress) -> FaultKind:
    condition, text = _amqp_condition(error), str(error)
    is_refused = "unauthorized-access" in condition or isinstance(error, AuthenticationError)
    is_unexpired = "Expired" not in text
    signs = {
        FaultKind.LATE: isinstance(error, TimeoutError | OperationTimeoutError),
        FaultKind.THROTTLED: "server-busy" in condition,
        FaultKind.ROLE: is_refused and is_unexpired and ("claim" in text or address.connection is None),
        FaultKind.NO_HUB: "not-found" in condition,
        FaultKind.IDENTITY: _is_credential_error(error),
        FaultKind.REFUSED: is_refused,
        FaultKind.LOST: bool(_LOST.search(condition)) or isinstance(error, OSError),
    }
    return next((kind for kind, is_so in signs.items() if is_so), FaultKind.OTHER)


class FaultLog:
    """Logs each kind of fault at most once a minute, and logs when the hub works again."""

    def __init__(self, trouble: str | None = None) -> None:
        """trouble: why nothing can be acknowledged before the first attempt to connect, or None."""
        self.trouble = trouble
        self._refused_at = -CALM_S
        self._is_said = False
        self._logged_at: dict[FaultKind, float] = {}

    def record_send_fault(self, fault: HubFault) -> None:
        """Record a failed send. For the next seconds (CALM_S), an open link alone does not end this fault."""
        self._refused_at = time.monotonic()
        self.record_open_fault(fault)

    def record_open_fault(self, fault: HubFault) -> None:
        """Record that a link could not be opened."""
        self.trouble = fault.message
        now = time.monotonic()
        if now - self._logged_at.get(fault.kind, -SAY_AGAIN_S) >= SAY_AGAIN_S:
            self._logged_at[fault.kind] = now
            self._is_said = True
            log.warning("%s", fault.message)

    def record_open_link(self) -> None:
        """Record that a link was opened. This ends the fault, unless a send failed recently."""
        if time.monotonic() - self._refused_at >= CALM_S:
            self.record_send()

    def record_send(self) -> None:
        """Record that the hub acknowledged a send. This ends the fault."""
        self.trouble = None
        if self._is_said:
            self._is_said = False
            log.info("The event hub responds again.")


def _is_credential_error(error: BaseException) -> bool:
    """Whether a credential caused the error.

    The SDK wraps such errors in an exception that does not name the cause, so the context of the exception is searched.
    """
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, AzureError):
        seen = seen.__context__
    return seen is not None


def _amqp_condition(error: BaseException) -> str:
    """Return the AMQP condition, such as `com.microsoft:server-busy`, of an exception of the SDK."""
    details = getattr(error, "details", None)
    condition: Any = getattr(details, "condition", None)
    condition = getattr(condition, "value", condition)
    if isinstance(condition, bytes):
        return condition.decode("utf-8", "replace")
    return str(condition or getattr(error, "error", None) or "")


def _message_without_secrets(error: BaseException, address: HubAddress) -> str:
    """Return the beginning of an exception's message without secrets."""
    text = error.message if isinstance(error, EventHubError) else str(error)
    lines = [line.strip() for line in text.partition("Attempted credentials:")[0].splitlines() if line.strip()]
    shown = " ".join(lines[:3]) or type(error).__name__
    for part in (address.connection or "").split(";"):
        secret = part.partition("=")[2]
        if len(secret) >= 8 and "://" not in secret:
            shown = shown.replace(secret, "***")
    return _SECRETS.sub("***", shown)[:300].rstrip(". ")
