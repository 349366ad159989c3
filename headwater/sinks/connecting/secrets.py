"""Read the secrets that `sinks.yml` refers to from variables or key vaults, and mask them in texts."""

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import msgspec

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.common.extras import require_extra
from headwater.common.http_connection import PersistentConnection, ssl_context
from headwater.sinks.interface.options import SecretLocation

_SCOPE = "https://vault.azure.net/.default"
_SHORTEST = 4
"""Secrets with fewer characters are not masked, because they would match inside ordinary words."""

_VAULT_S = 15.0

Token = Callable[[str], str]
"""Returns an access token of Entra ID for a scope."""


class _VaultSecret(msgspec.Struct):
    value: str


class Secrets:
    """The secrets that one sink has used. Not thread-safe."""

    def __init__(self, token: Token, environment: Mapping[str, str] = os.environ) -> None:
        self._token = token
        self._environment = environment
        self._known: set[str] = set()

    def reveal(self, reference: SecretLocation) -> str:
        """Return a secret; raises WrongSetting if it does not exist, Retry if the vault does not answer."""
        found = self._from_vault(reference.vault) if reference.vault else self._from_environment(reference.env or "")
        self._known |= {found, found.strip()}
        return found

    def mask(self, text: str) -> str:
        """Replace each secret that `reveal` has returned so far with `***`."""
        for secret in sorted(self._known, key=len, reverse=True):
            if len(secret) >= _SHORTEST:
                text = text.replace(secret, "***")
        return text

    def _from_environment(self, variable: str) -> str:
        if not (found := self._environment.get(variable)):
            raise WrongSetting(f"The variable {variable} is not set. Set it in the environment of `headwater up`.")
        return found

    def _from_vault(self, address: str) -> str:
        headers = {"authorization": f"Bearer {self._token(_SCOPE)}"}
        with closing(PersistentConnection(address, timeout_s=_VAULT_S, context=ssl_context())) as connection:
            answer = connection.request("GET", "?api-version=7.4", None, headers)
        try:
            found = msgspec.json.decode(answer.body, type=_VaultSecret).value
        except msgspec.DecodeError:
            found = ""
        if answer.status != 200 or not found:
            raise WrongSetting(
                f"The key vault returned status {answer.status} for {address}. Give this identity the role "
                "`Key Vault Secrets User`, or correct the address."
            )
        return found


def entra_token_source(client_id: str | None) -> Token:
    """Return a function that gets Entra ID tokens for this machine's identity; the credential caches them."""
    opened: list[Any] = []

    def fetch_token(scope: str) -> str:
        with require_extra("azure"):
            from azure.core.exceptions import ClientAuthenticationError  # noqa: PLC0415 - an extra
            from azure.identity import DefaultAzureCredential  # noqa: PLC0415 - an extra
        if not opened:
            opened.append(DefaultAzureCredential(managed_identity_client_id=client_id))
        try:
            return str(opened[0].get_token(scope).token)
        except ClientAuthenticationError as error:
            raise LakeUnavailable(
                f"Found no identity to request a token of Entra ID for {scope} "
                f"({error.message.splitlines()[0].rstrip('.')}). Sign in with `az login`, set AZURE_TENANT_ID, "
                "AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run with a managed identity."
            ) from error

    return fetch_token
