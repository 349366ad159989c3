"""Signing in to Kafka as the identity of this machine or app (OAUTHBEARER), as an event hub without keys wants it."""

import re
import time
from functools import cache
from typing import Any

from azure.core.exceptions import AzureError, ClientAuthenticationError
from azure.identity import DefaultAzureCredential, ManagedIdentityCredential

from headwater.errors import LogUnavailable, WrongSetting
from headwater.eventlog.azure_log_lines import silence_sdk
from headwater.eventlog.kafka_clients import TokenOfKafka

ASK_AGAIN_S = 5.0
"""An identity that gives no token at the moment is asked again after that; meanwhile the last token is all there is."""

silence_sdk()


def entra_token(scope: str, client_id: str | None) -> TokenOfKafka:
    """Ask for a first token of a scope, and return what gives librdkafka one whenever it needs one.

    client_id: of a user-assigned managed identity. Raises WrongSetting where nobody is signed in or the issuer refuses,
    LogUnavailable where the issuer cannot be reached. What is returned raises nothing: librdkafka could not tell it.
    """
    credential = _credential(client_id)
    try:
        kept = [credential.get_token(scope)]
    except ClientAuthenticationError as error:
        raise WrongSetting(
            f"There is no token of {scope} for Kafka{_code(error)}. Give this machine or app an identity, set "
            "`identity_client_id` to it, or `az login`; see that `kafka_token_scope` is that of the servers."
        ) from None
    except AzureError as error:
        raise LogUnavailable(f"Who gives tokens for Kafka cannot be reached ({type(error).__name__}).") from None

    def token(_: str) -> tuple[str, float]:
        try:
            kept[0] = credential.get_token(scope)
        except AzureError:
            return kept[0].token, time.time() + ASK_AGAIN_S
        return kept[0].token, float(kept[0].expires_on)

    return token


@cache
def _credential(client_id: str | None) -> Any:
    """Return one credential for all clients of a process: it keeps its tokens."""
    return ManagedIdentityCredential(client_id=client_id) if client_id else DefaultAzureCredential()


def _code(error: AzureError) -> str:
    """Return Entra ID's number for what is wrong; the rest of an answer may hold what nobody should read."""
    found = re.search(r"AADSTS\d+", str(error))
    return f" ({found[0]})" if found else ""
