"""Secrets of sinks: read where `sinks.yml` says they lie, and taken out of whatever is said."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from headwater.errors import LakeUnavailable, WrongSetting
from headwater.sinks.sink_options import Reference

_SCOPE = "https://vault.azure.net/.default"
_SHORTEST = 4
"""Shorter values are no secrets, and would be found in every other word."""

Token = Callable[[str], str]
"""Returns an access token of Entra ID for a scope."""


class Secrets:
    """What one sink has been told; not for several threads at once."""

    def __init__(self, token: Token, environment: Mapping[str, str] = os.environ) -> None:
        """Read nothing yet."""
        self._token = token
        self._environment = environment
        self._known: set[str] = set()

    def reveal(self, reference: Reference) -> str:
        """Return a secret; raises WrongSetting, or LakeUnavailable while the vault does not answer."""
        found = self._from_vault(reference.vault) if reference.vault else self._from_environment(reference.env or "")
        self._known.add(found)
        return found

    def hide(self, text: str) -> str:
        """Return a text without any secret that was revealed."""
        for secret in self._known:
            if len(secret) >= _SHORTEST:
                text = text.replace(secret, "***")
        return text

    def _from_environment(self, variable: str) -> str:
        if not (found := self._environment.get(variable)):
            raise WrongSetting(f"The variable {variable} is not set. Set it where `headwater up` is started.")
        return found

    def _from_vault(self, address: str) -> str:
        headers = {"authorization": f"Bearer {self._token(_SCOPE)}"}
        try:
            answer = httpx.get(address, params={"api-version": "7.4"}, headers=headers, timeout=15)
            value = answer.json()["value"] if answer.status_code == 200 else None
        except (httpx.TransportError, ValueError, KeyError, TypeError) as error:
            raise LakeUnavailable(f"The key vault did not answer for {address}: {type(error).__name__}.") from error
        if not isinstance(value, str) or not value:
            raise WrongSetting(
                f"The key vault answers {answer.status_code} for {address}. Give this identity the role "
                "`Key Vault Secrets User`, or correct the address."
            )
        return value


def entra_token(client_id: str | None) -> Token:
    """Return what asks Entra ID for tokens, as the identity that the machine offers; it keeps them while they hold."""
    opened: list[Any] = []

    def token(scope: str) -> str:
        try:
            from azure.core.exceptions import ClientAuthenticationError  # noqa: PLC0415 - an extra
            from azure.identity import DefaultAzureCredential  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise WrongSetting(f"{error.name} is missing. Run `pip install headwater[azure]`.") from error
        if not opened:
            opened.append(DefaultAzureCredential(managed_identity_client_id=client_id))
        try:
            return str(opened[0].get_token(scope).token)
        except ClientAuthenticationError as error:
            raise LakeUnavailable(f"No token of Entra ID for {scope}: {error.message.splitlines()[0]}") from error

    return token
