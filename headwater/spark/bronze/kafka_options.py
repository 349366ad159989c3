"""The settings of librdkafka, as `kafka_options` has them, in the words of Spark's Java client."""

from headwater.errors import WrongSetting
from headwater.eventlog.kafka_clients import KafkaAddress

_LOGIN = "org.apache.kafka.common.security.{module}LoginModule required username={user} password={password};"
_MODULES = {"PLAIN": "plain.Plain", "SCRAM-SHA-256": "scram.Scram", "SCRAM-SHA-512": "scram.Scram"}
_MECHANISM = ("sasl.mechanism", "sasl.mechanisms")


def source_options(address: KafkaAddress) -> dict[str, str]:
    """Return the options of Spark's Kafka source; raises WrongSetting for what has no counterpart there."""
    return {
        "subscribe": address.topic,
        "includeHeaders": "true",
        "failOnDataLoss": "false",  # what is lost becomes a row in `rejected`; the query goes on
        "groupIdPrefix": address.group,
        "kafka.bootstrap.servers": address.servers,
        "kafka.isolation.level": "read_committed",
        **{f"kafka.{name}": value for name, value in _security(dict(address.options)).items()},
    }


def _security(options: dict[str, str]) -> dict[str, str]:
    found = {}
    if protocol := options.pop("security.protocol", None):
        found["security.protocol"] = protocol.upper()
    mechanism = next((options.pop(name) for name in _MECHANISM if name in options), "")
    user, password = options.pop("sasl.username", None), options.pop("sasl.password", None)
    if mechanism in _MODULES and user is not None and password is not None:
        found["sasl.mechanism"] = mechanism
        found["sasl.jaas.config"] = _LOGIN.format(
            module=_MODULES[mechanism], user=_quoted(user), password=_quoted(password)
        )
    elif mechanism:
        raise WrongSetting(
            f"Spark cannot log in with sasl.mechanisms={mechanism}. Use one of {', '.join(_MODULES)}, with "
            "sasl.username and sasl.password."
        )
    if authority := options.pop("ssl.ca.location", None):
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority}
    if options:
        raise WrongSetting(f"Spark has no counterpart of {sorted(options)[0]} in `kafka_options`. Leave it out here.")
    return found


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
