"""Fabric's REST API, as far as shortcuts need it. Faults are one line: what Fabric says, why, and what to do."""

from collections.abc import Callable
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpx

from headwater.errors import Retry, WrongSetting

API = "https://api.fabric.microsoft.com"
SCOPE = "https://api.fabric.microsoft.com/.default"

_TIMEOUT_S = 60.0
_SHOWN = 300
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_FIXES = {
    400: "Look at the ids and at the connection: it must be one to this storage account",
    401: "Sign in with `az login` in the tenant of the workspace, or give this machine an identity of that tenant",
    403: "Make the identity Contributor of the workspace and user of the connection; for a service principal or a "
    "managed identity a tenant setting of Fabric must also allow service principals to use its APIs",
    404: "Copy both ids from the address of the lakehouse in the browser: /groups/WORKSPACE/lakehouses/LAKEHOUSE",
}

Token = Callable[[str], str]
"""Scope → access token."""


def shortcut_url(api: str, workspace: str, lakehouse: str) -> str:
    """Return where a shortcut is posted; one that is there is overwritten."""
    place = f"{api.rstrip('/')}/v1/workspaces/{workspace}/items/{lakehouse}/shortcuts"
    return f"{place}?shortcutConflictPolicy=CreateOrOverwrite"


class Fabric:
    """A connection to the REST API; `close` ends it."""

    def __init__(self, api: str, token: Token):
        """Touch nothing yet. Raises WrongSetting for an address to which no token may be sent."""
        url = urlsplit(api)
        if url.scheme != "https" and url.hostname not in _LOOPBACK:
            raise WrongSetting(f"{api} is no https address: no token is sent there. The default is {API}.")
        self._token = token
        self._client = httpx.Client(timeout=_TIMEOUT_S)

    def post(self, url: str, body: dict[str, Any]) -> None:
        """Post a document. Raises WrongSetting where it can never succeed, Retry where the same may succeed later."""
        headers = {"authorization": f"Bearer {access(self._token)}"}
        try:
            answer = self._client.post(url, json=body, headers=headers)
        except httpx.TransportError as error:
            raise Retry(
                f"No answer from Fabric ({type(error).__name__}). Check the network, then run it again."
            ) from error
        if not answer.is_success:
            _refuse(answer)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def access(token: Token) -> str:
    """Return a token for Fabric's API; raises WrongSetting where nobody is signed in."""
    from azure.core.exceptions import ClientAuthenticationError  # noqa: PLC0415 - loaded by then

    try:
        return token(SCOPE)
    except ClientAuthenticationError as error:
        raise WrongSetting(
            "There is no identity with which to ask Fabric for a token. Sign in with `az login`, or set "
            "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET of a service principal."
        ) from error


def _refuse(answer: httpx.Response) -> NoReturn:
    status = answer.status_code
    said = f"Fabric answers {status}{_said(answer)}"
    if status == 429 or status >= 500:
        seconds = answer.headers.get("retry-after", "")
        wait = f"in {seconds} seconds" if seconds.isdigit() else "in a minute"
        raise Retry(f"{said}. Run the same command again {wait}: what is done already is only done again.")
    raise WrongSetting(f"{said}. {_FIXES.get(status, _FIXES[400])}.")


def _said(answer: httpx.Response) -> str:
    """Return Fabric's own code and words, which its error bodies have; other bodies are not shown."""
    try:
        told = answer.json()
        words = f"{told['errorCode']}: {told['message']}"
    except (ValueError, KeyError, TypeError):
        return ""
    return f" ({' '.join(words.split())[:_SHOWN].rstrip('. ')})"
