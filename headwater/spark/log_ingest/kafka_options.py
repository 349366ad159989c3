"""Translate the librdkafka settings in `kafka_options` to settings of Spark's Java client."""

import os
from collections.abc import Mapping

from headwater.common.errors import WrongSetting
from headwater.intake.event_log.kafka_clients import KafkaAddress

_LOGIN = "org.apache.kafka.common.security.{module}LoginModule required {words};"
_MODULES = {"PLAIN": "plain.Plain", "SCRAM-SHA-256": "scram.Scram", "SCRAM-SHA-512": "scram.Scram"}
_MECHANISM = ("sasl.mechanism", "sasl.mechanisms")
_TOKENS = "OAUTHBEARER"
_OIDC = "sasl.oauthbearer."
_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
_AUTHORITY = "https://login.microsoftonline.com"


def as_principal(address: KafkaAddress, environment: Mapping[str, str] = os.environ) -> KafkaAddress:
    """Replace the token scope of an address with librdkafka options that sign in as a service principal.

    Returns an address without a token scope unchanged. environment: must contain AZURE_TENANT_ID, AZURE_CLIENT_ID and
    AZURE_CLIENT_SECRET of the service principal. Raises WrongSetting if a variable is missing, because Spark's Kafka
    client cannot use a managed identity.
    """
    if address.token_scope is None:
        return address
    tenant, client, secret = (environment.get(f"AZURE_{name}") for name in ("TENANT_ID", "CLIENT_ID", "CLIENT_SECRET"))
    if not (tenant and client and secret):
        raise WrongSetting(
            "Spark's Kafka client cannot use a managed identity. For `kafka_token_scope`, set AZURE_TENANT_ID, "
            "AZURE_CLIENT_ID and AZURE_CLIENT_SECRET to a service principal that may read the topic."
        )
    authority = environment.get("AZURE_AUTHORITY_HOST", _AUTHORITY).rstrip("/")
    options = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": _TOKENS,
        f"{_OIDC}method": "oidc",
        f"{_OIDC}token.endpoint.url": f"{authority}/{tenant}/oauth2/v2.0/token",
        f"{_OIDC}client.id": client,
        f"{_OIDC}client.secret": secret,
        f"{_OIDC}scope": address.token_scope,
        **address.options,
    }
    return KafkaAddress(address.servers, address.topic, address.group, options)


def source_options(address: KafkaAddress) -> dict[str, str]:
    """Return the options of Spark's Kafka source. Raises WrongSetting for an option that Spark's client lacks."""
    return {
        "subscribe": address.topic,
        "includeHeaders": "true",
        "failOnDataLoss": "false",  # the query continues, and table `rejected` records the loss
        "groupIdPrefix": address.group,
        "kafka.bootstrap.servers": address.servers,
        "kafka.isolation.level": "read_committed",
        **{f"kafka.{name}": value for name, value in _java_security_options(dict(address.options)).items()},
    }


def _java_security_options(options: dict[str, str]) -> dict[str, str]:
    found = {}
    if protocol := options.pop("security.protocol", None):
        found["security.protocol"] = protocol.upper()
    mechanism = next((options.pop(name) for name in _MECHANISM if name in options), "")
    if mechanism:
        found |= {"sasl.mechanism": mechanism, **_pop_login(mechanism, options)}
    if authority := options.pop("ssl.ca.location", None):
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority}
    if options:
        raise WrongSetting(
            f"Spark's Kafka client has no setting like {sorted(options)[0]} in `kafka_options`. "
            "Remove it from `kafka_options` for this command."
        )
    return found


def _pop_login(mechanism: str, options: dict[str, str]) -> dict[str, str]:
    """Remove the login settings of a SASL mechanism from the options and return them for the Java client."""
    user, password = options.pop("sasl.username", None), options.pop("sasl.password", None)
    if mechanism in _MODULES and user is not None and password is not None:
        return {"sasl.jaas.config": _jaas_config(_MODULES[mechanism], username=user, password=password)}
    method, endpoint, client, secret, scope = (
        options.pop(f"{_OIDC}{name}", None)
        for name in ("method", "token.endpoint.url", "client.id", "client.secret", "scope")
    )
    if mechanism == _TOKENS and method == "oidc" and endpoint and client and secret:
        words = {"clientId": client, "clientSecret": secret, **({"scope": scope} if scope else {})}
        return {
            "sasl.jaas.config": _jaas_config("oauthbearer.OAuthBearer", **words),
            "sasl.login.callback.handler.class": _HANDLER,
            "sasl.oauthbearer.token.endpoint.url": endpoint,
        }
    raise WrongSetting(
        f"Spark cannot log in with sasl.mechanisms={mechanism} and the other `kafka_options`. Use one of "
        f"{', '.join(_MODULES)} with sasl.username and sasl.password, or {_TOKENS} with sasl.oauthbearer.method=oidc, "
        "client.id, client.secret and token.endpoint.url."
    )


def _jaas_config(module: str, **words: str) -> str:
    return _LOGIN.format(module=module, words=" ".join(f"{name}={_quote(text)}" for name, text in words.items()))


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
