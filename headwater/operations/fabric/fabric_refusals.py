"""Errors for Fabric's refusals: its message, the reason, and the role or setting that is needed."""

from collections.abc import Mapping
from typing import Any, NoReturn

import httpx

from headwater.common.errors import Retry, WrongSetting

_SHOWN = 300
_FIXES = {
    400: "Check the ids and the connection, which must be one to this storage account",
    401: "Sign in with `az login` in the tenant of the workspace, or give this machine an identity of that tenant",
    403: "Make the identity Contributor of the workspace and user of the connection; for a service principal or a "
    "managed identity, a tenant setting of Fabric must also allow service principals to use its APIs",
    404: "Copy both ids from the address of the lakehouse in the browser: /groups/WORKSPACE/lakehouses/LAKEHOUSE",
}
_RESUME = "Resume the workspace's capacity in Azure (Microsoft.Fabric/capacities), or assign the workspace to another"
_ASSIGN = "Assign the workspace to a capacity (its settings, *License info*)"
_BY_CODE = {
    "CapacityNotActive": _RESUME,
    "InvalidCapacityState": _RESUME,
    "WorkspaceHasNoCapacityAssigned": _ASSIGN,
    "PrincipalTypeNotSupported": "Run it as a person, because service principals may not do this",
    "TenantSwitchDisabled": "Ask a Fabric administrator for the tenant setting in this message",
    "FeatureNotAvailable": f"{_ASSIGN}; if it has one, ask a Fabric administrator for the tenant setting *Users can "
    "create Fabric items*",
    "IncorrectCredentials": "Give the workspace's identity the role Storage Blob Data Reader on the lake's container; "
    "a new role takes some minutes",
}
ALREADY_EXISTS = frozenset({"ItemDisplayNameAlreadyInUse", "DuplicateConnectionName"})
"""The resource was created by someone else after the check."""

NOT_FOUND = 404
"""The resource was deleted by someone else after the check."""

_LATER = frozenset({"ItemDisplayNameNotAvailableYet", "OperationInProgress"})


class FabricRefusal(WrongSetting):
    """Fabric refuses a request; code: Fabric's error code; status: of HTTP, 0 for an operation that failed later."""

    def __init__(self, text: str, code: str, status: int) -> None:
        super().__init__(text)
        self.code = code
        self.status = status


def raise_refusal(answer: httpx.Response) -> NoReturn:
    """Raise the error for a response: Retry if the same request may succeed later, else FabricRefusal."""
    try:
        details = answer.json()
        details["errorCode"], details["message"]
    except (ValueError, KeyError, TypeError):
        details = {}
    status, code = answer.status_code, str(details.get("errorCode", ""))
    reason = f"Fabric returned status {status}{_quoted(details)}"
    is_passing = status == 429 or status >= 500 or details.get("isRetriable") is True or code in _LATER
    if is_passing and code not in _BY_CODE:
        seconds = answer.headers.get("retry-after", "")
        wait = f"in {seconds} seconds" if seconds.isdigit() else "in a minute"
        raise Retry(f"{reason}. Run the same command again {wait}; completed steps are kept.")
    raise FabricRefusal(f"{reason}. {_BY_CODE.get(code, _FIXES.get(status, _FIXES[400]))}.", code, status)


def raise_failed_operation(details: Mapping[str, Any]) -> NoReturn:
    """Raise the error of an operation that Fabric accepted and that failed later."""
    fix = _BY_CODE.get(str(details.get("errorCode")), "Correct the cause, then run the same command again")
    code = str(details.get("errorCode", ""))
    raise FabricRefusal(f"The operation failed in Fabric{_quoted(details)}. {fix}.", code, 0)


def _quoted(details: Mapping[str, Any]) -> str:
    """Return Fabric's error code and message in parentheses; empty for responses without them."""
    if not details:
        return ""
    words = f"{details.get('errorCode')}: {details.get('message')}"
    return f" ({' '.join(words.split())[:_SHOWN].rstrip('. ')})"
