"""What Fabric refuses, in one line: what it says, why, and which role or setting allows it."""

from collections.abc import Mapping
from typing import Any, NoReturn

import httpx

from headwater.errors import Retry, WrongSetting

_SHOWN = 300
_FIXES = {
    400: "Look at the ids and at the connection: it must be one to this storage account",
    401: "Sign in with `az login` in the tenant of the workspace, or give this machine an identity of that tenant",
    403: "Make the identity Contributor of the workspace and user of the connection; for a service principal or a "
    "managed identity a tenant setting of Fabric must also allow service principals to use its APIs",
    404: "Copy both ids from the address of the lakehouse in the browser: /groups/WORKSPACE/lakehouses/LAKEHOUSE",
}
_RESUME = "Resume the workspace's capacity in Azure (Microsoft.Fabric/capacities), or assign the workspace to another"
_ASSIGN = "Assign the workspace to a capacity (its settings, *License info*)"
_BY_CODE = {
    "CapacityNotActive": _RESUME,
    "InvalidCapacityState": _RESUME,
    "WorkspaceHasNoCapacityAssigned": _ASSIGN,
    "PrincipalTypeNotSupported": "Run it as a person: a service principal may not do this",
    "TenantSwitchDisabled": "Ask a Fabric administrator for the tenant setting that this names",
    "FeatureNotAvailable": f"{_ASSIGN}; if it has one, ask a Fabric administrator for the tenant setting *Users can "
    "create Fabric items*",
    "IncorrectCredentials": "Give the workspace's identity the role Storage Blob Data Reader on the lake's container; "
    "a new role takes some minutes",
}
TAKEN = frozenset({"ItemDisplayNameAlreadyInUse", "DuplicateConnectionName"})
"""Somebody else has made it since it was looked for."""

GONE = 404
"""Somebody else has deleted it since it was looked for."""

_LATER = frozenset({"ItemDisplayNameNotAvailableYet", "OperationInProgress"})


class FabricRefusal(WrongSetting):
    """Fabric will not do it; code: Fabric's own word, status: of HTTP, 0 for an operation that failed later."""

    def __init__(self, text: str, code: str, status: int) -> None:
        super().__init__(text)
        self.code = code
        self.status = status


def refuse(answer: httpx.Response) -> NoReturn:
    """Raise what an answer means: Retry where the same may succeed later, else FabricRefusal."""
    try:
        told = answer.json()
        told["errorCode"], told["message"]
    except (ValueError, KeyError, TypeError):
        told = {}
    status, code = answer.status_code, str(told.get("errorCode", ""))
    said = f"Fabric answers {status}{_said(told)}"
    is_passing = status == 429 or status >= 500 or told.get("isRetriable") is True or code in _LATER
    if is_passing and code not in _BY_CODE:
        seconds = answer.headers.get("retry-after", "")
        wait = f"in {seconds} seconds" if seconds.isdigit() else "in a minute"
        raise Retry(f"{said}. Run the same command again {wait}: what is done already is only done again.")
    raise FabricRefusal(f"{said}. {_BY_CODE.get(code, _FIXES.get(status, _FIXES[400]))}.", code, status)


def refuse_operation(told: Mapping[str, Any]) -> NoReturn:
    """Raise what an operation that Fabric had accepted ended with."""
    fix = _BY_CODE.get(str(told.get("errorCode")), "Correct what it names, then run the same command again")
    raise FabricRefusal(f"Fabric has not done it{_said(told)}. {fix}.", str(told.get("errorCode", "")), 0)


def _said(told: Mapping[str, Any]) -> str:
    """Return Fabric's own code and words, which its error bodies have; other bodies are not shown."""
    if not told:
        return ""
    words = f"{told.get('errorCode')}: {told.get('message')}"
    return f" ({' '.join(words.split())[:_SHOWN].rstrip('. ')})"
