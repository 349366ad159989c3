"""Send proposals to DataHub's Kafka topic: Avro in Confluent's wire format, with the schema from the registry."""

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import fastavro
import msgspec

from headwater.common.errors import Retry, WrongSetting
from headwater.common.http_connection import HttpAnswer
from headwater.sinks.connecting.http import Poster, open_poster
from headwater.sinks.connecting.kafka_topic import KafkaRecord
from headwater.sinks.interface.options import SecretResolver
from headwater.sinks.interface.shape import Outcome, Payload, retry_all
from headwater.sinks.targets.datahub.options import DataHubOptions
from headwater.sinks.targets.kafka import kafka_topic

_LARGEST_BYTES = 5 << 20
"""Maximum size of a record in DataHub's topic, in bytes."""
_ASPECT = {
    "type": "record", "name": "GenericAspect",
    "fields": [{"name": "value", "type": "bytes"}, {"name": "contentType", "type": "string"}],
}  # fmt: skip
_CHANGES = ["UPSERT", "CREATE", "UPDATE", "DELETE", "PATCH", "RESTATE", "CREATE_ENTITY"]
_OURS = {
    "type": "record", "name": "MetadataChangeProposal", "namespace": "com.linkedin.pegasus2avro.mxe",
    "fields": [
        {"name": "entityType", "type": "string"},
        {"name": "entityUrn", "type": ["null", "string"], "default": None},
        {
            "name": "changeType",
            "type": {
                "type": "enum", "name": "ChangeType", "namespace": "com.linkedin.pegasus2avro.events.metadata",
                "symbols": _CHANGES,
            },
        },
        {"name": "aspectName", "type": ["null", "string"], "default": None},
        {"name": "aspect", "type": ["null", _ASPECT], "default": None},
    ],
}  # fmt: skip
"""Schema to register if the registry has no schema; it has only the fields that the emitter sends."""


class _RegisteredSchema(NamedTuple):
    id: int
    schema: Any


class KafkaEmitter:
    """Sends proposals to a Kafka topic, encoded with a schema from the schema registry."""

    def __init__(self, given: DataHubOptions, reveal: SecretResolver) -> None:
        """Raise WrongSetting if a secret is missing."""
        self._subject = f"{given.mcp_topic}-value"
        self._registry: Poster = open_poster(given.model_copy(update={"url": given.schema_registry}), reveal)
        self._topic = kafka_topic(given.bootstrap, given.mcp_topic, given.producer_config, _LARGEST_BYTES, reveal)
        self._patience_s = given.timeout
        self._registered: _RegisteredSchema | None = None

    def emit(self, payloads: Sequence[Payload]) -> Outcome:
        """Write each proposal as a record; the key is the entity's URN, so records of one entity stay in order."""
        try:
            found = self._registered = self._registered or self._registered_schema()
        except (Retry, WrongSetting) as error:
            return retry_all(len(payloads), str(error))
        records = [
            KafkaRecord(place, proposal["entityUrn"].encode(), _encode_record(found, proposal))
            for place, payload in enumerate(payloads)
            for proposal in msgspec.json.decode(payload.body)
        ]
        return self._topic.write_records(records, len(payloads), self._patience_s)

    def check(self) -> str:
        """Request the topic's metadata and its schema; does not register a schema if there is none."""
        topic = self._topic.check()
        answer = self._registry.request("GET", f"/subjects/{self._subject}/versions/latest")
        if answer.status in (401, 403):
            raise WrongSetting(f"The schema registry returned status {answer.status}. Correct `key` or `headers`.")
        return f"{topic}; the schema registry responds with status {answer.status} for {self._subject}"

    def close(self) -> None:
        """Close the connections to the topic and the registry."""
        self._registry.close()
        self._topic.close()

    def _registered_schema(self) -> _RegisteredSchema:
        """Return the newest schema of the topic; if the registry does not return one, register `_OURS` first.

        DataHub's own registry returns its schema only in response to a registration.
        """
        found = self._registry.request("GET", f"/subjects/{self._subject}/versions/latest")
        if found.status == 200:
            return _parse_registered_schema(found, found)
        body = msgspec.json.encode({"schema": msgspec.json.encode(_OURS).decode()})
        made = self._registry.request("POST", f"/subjects/{self._subject}/versions", body)
        return _parse_registered_schema(made, self._registry.request("GET", f"/schemas/ids/{_schema_id(made)}"))


def _parse_registered_schema(named: HttpAnswer, content: HttpAnswer) -> _RegisteredSchema:
    try:
        schema = msgspec.json.decode(content.body)["schema"]
        return _RegisteredSchema(_schema_id(named), fastavro.parse_schema(msgspec.json.decode(schema)))
    except (msgspec.DecodeError, KeyError, TypeError, fastavro.schema.SchemaParseException) as error:
        raise Retry(
            f"The schema registry returned no Avro schema, status {content.status}. Correct its address."
        ) from error


def _schema_id(answer: HttpAnswer) -> int:
    try:
        return int(msgspec.json.decode(answer.body)["id"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise Retry(
            f"The schema registry returned no schema id, status {answer.status}. Correct its address."
        ) from error


def _encode_record(registered: _RegisteredSchema, proposal: dict[str, Any]) -> bytes:
    """Return a record in wire format: a zero byte, the schema id in four bytes, and the Avro encoding."""
    fields = proposal | {"aspect": proposal["aspect"] | {"value": proposal["aspect"]["value"].encode()}}
    out = io.BytesIO(b"\0" + registered.id.to_bytes(4, "big"))
    out.seek(5)
    fastavro.schemaless_writer(out, registered.schema, fields)
    return out.getvalue()
