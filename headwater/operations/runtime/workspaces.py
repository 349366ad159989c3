"""Open Fabric's REST API with the current identity."""

import logging
from typing import TYPE_CHECKING

from headwater.common.extras import extra
from headwater.operations.settings import Settings

if TYPE_CHECKING:
    from headwater.operations.fabric.rest import Fabric, Token


def open_fabric(settings: Settings, api: str, patience_s: float = 0.0) -> "Fabric":
    """Return a client with the identity of `az login`, the environment or a managed identity.

    patience_s: how long one request may take in total if Fabric works in the background.
    """
    from headwater.operations.fabric.rest import Fabric

    return Fabric(api, _token(settings), patience_s)


def fabric_access(settings: Settings) -> str:
    """Return a token for Fabric's API with the same identity."""
    from headwater.operations.fabric.rest import access

    return access(_token(settings))


def _token(settings: Settings) -> "Token":
    with extra("azure"):
        from azure.identity import DefaultAzureCredential

    logging.getLogger("azure.identity").setLevel(logging.CRITICAL)  # our own error message is enough
    credential = DefaultAzureCredential(managed_identity_client_id=settings.identity_client_id)
    return lambda scope: credential.get_token(scope).token
