"""Client for Fabric's REST API: identity, paging, long-running operations, throttling, and errors.

An error has Fabric's message, the reason, and the role or setting that is needed.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import urlencode, urlsplit

import httpx

from headwater.common.errors import Retry, WrongSetting
from headwater.common.extras import require_extra
from headwater.operations.settings import Settings

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
"""Fabric's error codes if someone else created the resource after the check."""

NOT_FOUND = 404
"""The HTTP status if someone else deleted the resource after the check."""

_LATER = frozenset({"ItemDisplayNameNotAvailableYet", "OperationInProgress"})

API = "https://api.fabric.microsoft.com"
SCOPE = "https://api.fabric.microsoft.com/.default"
STORAGE_SCOPE = "https://storage.azure.com/.default"
"""Scope of tokens for OneLake, which accepts tokens for Azure Storage."""

OPERATION_S = 1800.0
"""Seconds to wait until an operation ends. Publishing an environment takes several minutes."""

_TIMEOUT_S = 60.0
_LOOK_S = 5.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
Token = Callable[[str], str]
"""Returns an access token for a scope."""


class FabricRefusal(WrongSetting):
    """Fabric refused a request.

    code: Fabric's error code. status: the HTTP status, or 0 for an operation that Fabric accepted and that failed
    later.
    """

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
    reason = f"Fabric returned status {status}{_error_details(details)}"
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
    raise FabricRefusal(f"The operation failed in Fabric{_error_details(details)}. {fix}.", code, 0)


def _error_details(details: Mapping[str, Any]) -> str:
    """Return Fabric's error code and message in parentheses; empty for responses without them."""
    if not details:
        return ""
    words = f"{details.get('errorCode')}: {details.get('message')}"
    return f" ({' '.join(words.split())[:_SHOWN].rstrip('. ')})"


_SHORTEST_S, _LONGEST_S = 0.05, 60.0


def shortcut_url(api: str, workspace: str, lakehouse: str) -> str:
    """Return the URL to which a shortcut is posted. The request replaces an existing shortcut of the same name."""
    place = f"{api.rstrip('/')}/v1/workspaces/{workspace}/items/{lakehouse}/shortcuts"
    return f"{place}?shortcutConflictPolicy=CreateOrOverwrite"


class FabricClient:
    """A connection to the REST API; `close` ends it."""

    def __init__(self, api: str, token: Token, patience_s: float = 0.0):
        """Connect to the API at the address `api`. Raises WrongSetting if tokens must not be sent to this address.

        token: returns an access token for a scope. patience_s: seconds that one request may take in total if Fabric
        throttles it or works in the background.
        """
        _check_address(api)
        self._root = f"{api.rstrip('/')}/v1"
        self._token = token
        self._patience_s = patience_s
        self._client = httpx.Client(timeout=_TIMEOUT_S)

    def get(self, path: str) -> dict[str, Any]:
        """Request a path of the API, and return the JSON document."""
        found: dict[str, Any] = self._request("GET", f"{self._root}{path}", None).json()
        return found

    def list_all(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield the items of a list, page by page; `path` must not have a query."""
        query: dict[str, str] = {}
        while True:
            page = self.get(f"{path}?{urlencode(query)}" if query else path)
            yield from page.get("value", ())
            if not (token := page.get("continuationToken")):
                return
            query = {"continuationToken": token}

    def wait_until(self, path: str, is_settled: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Request a document repeatedly until `is_settled` returns True for it, and return the document."""
        deadline = time.monotonic() + self._patience_s
        while True:
            answer = self._request("GET", f"{self._root}{path}", None)
            found: dict[str, Any] = answer.json()
            if is_settled(found):
                return found
            self._sleep_until_retry(answer, deadline)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> None:
        """Post a document, and wait until the operation has ended. path: a path of the API or a whole URL.

        Raises WrongSetting if the request can never succeed, Retry if it may succeed later.
        """
        self._run_operation("POST", path, body)

    def patch(self, path: str, body: Mapping[str, Any]) -> None:
        """Change a resource with a PATCH request. Raises the same errors as `post`."""
        self._run_operation("PATCH", path, body)

    def delete(self, path: str) -> None:
        """Delete a resource. Raises the same errors as `post`."""
        self._run_operation("DELETE", path, None)

    def request_onelake(self, method: str, url: str) -> None:
        """Send a request without a body to OneLake's file API. Raises the same errors as `post`."""
        _check_address(url)
        self._request(method, url, None, STORAGE_SCOPE)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _run_operation(self, method: str, path: str, body: Mapping[str, Any] | None) -> None:
        url = f"{self._root}{path}" if path.startswith("/") else path
        deadline = time.monotonic() + self._patience_s
        answer = self._request(method, url, body)
        # use only the id of the operation and not its URL, so that no token is sent to a URL from a response
        operation = answer.headers.get("x-ms-operation-id") if answer.status_code == 202 else None
        while operation:
            self._sleep_until_retry(answer, deadline)
            answer = self._request("GET", f"{self._root}/operations/{operation}", None)
            state = answer.json()
            if state["status"] == "Succeeded":
                return
            if state["status"] == "Failed":
                raise_failed_operation(state.get("error") or {})

    def _request(self, method: str, url: str, body: Mapping[str, Any] | None, scope: str = SCOPE) -> httpx.Response:
        deadline = time.monotonic() + self._patience_s
        while True:
            headers = {"authorization": f"Bearer {access_token(self._token, scope)}"}
            try:
                answer = self._client.request(method, url, json=body, headers=headers)
            except httpx.TransportError as error:
                raise Retry(
                    f"No response from Fabric ({type(error).__name__}). Check the network, then run the command again."
                ) from error
            if answer.is_success:
                return answer
            if answer.status_code != 429 or time.monotonic() + _retry_after_s(answer) > deadline:
                raise_refusal(answer)
            time.sleep(_retry_after_s(answer))

    def _sleep_until_retry(self, answer: httpx.Response, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise Retry(
                "Fabric is still working on the operation. Run the same command again later; completed steps are kept."
            )
        time.sleep(_retry_after_s(answer))


def _check_address(url: str) -> None:
    """Raise WrongSetting for an address to which tokens must not be sent."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise WrongSetting(f"{url} is not an https:// address, so no token is sent to it. The default is {API}.")


def access_token(token: Token, scope: str = SCOPE) -> str:
    """Return an access token, by default for Fabric's API. Raises WrongSetting if no identity is signed in."""
    from azure.core.exceptions import ClientAuthenticationError  # noqa: PLC0415 - loaded by then

    try:
        return token(scope)
    except ClientAuthenticationError as error:
        raise WrongSetting(
            "Found no identity to request a token for Fabric. Sign in with `az login`, or set "
            "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET of a service principal."
        ) from error


def _retry_after_s(answer: httpx.Response) -> float:
    text = answer.headers.get("retry-after", "")
    return min(_LONGEST_S, max(_SHORTEST_S, float(text) if text.isdigit() else _LOOK_S))


def open_fabric(settings: Settings, api: str, patience_s: float = 0.0) -> FabricClient:
    """Return a client with the identity of `az login`, the environment or a managed identity.

    patience_s: seconds that one request may take in total if Fabric throttles it or works in the background.
    """
    return FabricClient(api, _token_source(settings), patience_s)


def fabric_access_token(settings: Settings) -> str:
    """Return a token for Fabric's API with the identity that `open_fabric` uses."""
    return access_token(_token_source(settings))


def _token_source(settings: Settings) -> Token:
    with require_extra("azure"):
        from azure.identity import DefaultAzureCredential  # noqa: PLC0415 - not needed by the plan of a deployment

    logging.getLogger("azure.identity").setLevel(logging.CRITICAL)  # our own error message is enough
    credential = DefaultAzureCredential(managed_identity_client_id=settings.identity_client_id)
    return lambda scope: credential.get_token(scope).token
