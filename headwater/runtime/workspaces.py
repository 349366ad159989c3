"""Fabric's REST API, as whoever we are signed in as."""

import logging
from typing import TYPE_CHECKING

from headwater.extras import extra
from headwater.settings import Settings

if TYPE_CHECKING:
    from headwater.fabric.rest import Fabric


def open_fabric(settings: Settings, api: str) -> "Fabric":
    """Open Fabric's REST API as whoever `az login`, the environment or a managed identity says we are."""
    with extra("azure"):
        from azure.identity import DefaultAzureCredential

    from headwater.fabric.rest import Fabric

    logging.getLogger("azure.identity").setLevel(logging.CRITICAL)  # our one line says what is wrong
    credential = DefaultAzureCredential(managed_identity_client_id=settings.identity_client_id)
    return Fabric(api, lambda scope: credential.get_token(scope).token)
