"""Signs in to Kafka with the Entra identity of this machine or app (OAUTHBEARER), for event hubs without keys."""

import re
import time
from functools import cache
from typing import Any

from azure.core.exceptions import AzureError, ClientAuthenticationError
from azure.identity import DefaultAzureCredential, ManagedIdentityCredential

from headwater.common.errors import LogUnavailable, WrongSetting
from headwater.intake.event_log.azure_log_lines import disable_sdk_logging
from headwater.intake.event_log.kafka_clients import TokenOfKafka

ASK_AGAIN_S = 5.0
"""Seconds until the next attempt if the issuer returns no token. Until then, the last token stays in use."""

disable_sdk_logging()


def entra_token_callback(scope: str, client_id: str | None) -> TokenOfKafka:
    """Fetch a first token, and return the token callback for librdkafka.

    scope: scope of the tokens. client_id: client id of a user-assigned managed identity, or None. Raises WrongSetting
    if there is no identity or the issuer refuses a token, and LogUnavailable if the issuer cannot be reached. The
    callback never raises, because librdkafka cannot report exceptions.
    """
    credential = _credential(client_id)
    try:
        kept = [credential.get_token(scope)]
    except ClientAuthenticationError as error:
        raise WrongSetting(
            f"There is no token of {scope} for Kafka{_entra_error_number(error)}. Assign an identity to this "
            "machine or app, set "
            "`identity_client_id`, or run `az login`; check that `kafka_token_scope` belongs to the servers."
        ) from None
    except AzureError as error:
        raise LogUnavailable(
            f"The issuer of tokens for Kafka cannot be reached ({type(error).__name__}). Check the network."
        ) from None

    def fetch_token(_: str) -> tuple[str, float]:
        try:
            kept[0] = credential.get_token(scope)
        except AzureError:
            return kept[0].token, time.time() + ASK_AGAIN_S
        return kept[0].token, float(kept[0].expires_on)

    return fetch_token


@cache
def _credential(client_id: str | None) -> Any:
    """Return the credential that all clients of the process share. The credential caches tokens."""
    return ManagedIdentityCredential(client_id=client_id) if client_id else DefaultAzureCredential()


def _entra_error_number(error: AzureError) -> str:
    """Return the error number in an answer of Entra ID, or an empty text.

    The rest of the answer may be confidential.
    """
    found = re.search(r"AADSTS\d+", str(error))
    return f" ({found[0]})" if found else ""
