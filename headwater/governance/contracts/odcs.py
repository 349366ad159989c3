"""Generate a contract in the Open Data Contract Standard 3.1 (bitol.io) from observed facts.

The standard has no members for upstream steps and for tags with values that a column may contain. The contract has
these facts in `customProperties`, with the names that this module defines.
"""

import re
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from headwater.questions.answer_types.common import Column, Dataset, StepTransformation
from headwater.questions.answer_types.contracts import (
    ContractColumn,
    ContractFacts,
    ContractService,
    ContractSource,
    ContractTag,
)

API_VERSION = "v3.1.0"
FIRST_VERSION = "1.0.0"
DATASET, JOBS, OPAQUE, LINEAGE, HOLDS, INFLUENCES = (
    "dataset", "producingJobs", "jobsWithoutColumnLineage", "lineage", "holds", "influencedBy",
)  # fmt: skip
"""Names of custom properties."""
_CLASSIFYING = ("classification", "confidentiality", "sensitivity")
FREQUENCY, LATENCY, ROWS = "frequency", "latency", "minimumRows"
_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
_WORDS = {"second": "s", "m": "min", "minute": "min", "hour": "h", "hr": "h", "day": "d"}
_LOGICAL = {
    "integer": "byte tinyint int8 short smallint int16 int integer int32 int2 int4 long bigint int64 hugeint serial "
    "bigserial uint8 uint16 uint32 uint64",
    "number": "float real float4 float32 double float8 float64 decimal dec numeric number bignumeric money",
    "boolean": "boolean bool bit",
    "date": "date date32 date64 localdate",
    "timestamp": "timestamp timestamp_ntz timestamp_ltz timestamptz timestamp_tz datetime datetime2 smalldatetime "
    "localdatetime instant",
    "time": "time timetz localtime",
    "string": "string str varchar char character text nvarchar nchar clob uuid json jsonb variant xml binary varbinary "
    "bytes bytea blob interval",
    "array": "array list",
    "object": "struct record row object map",
}
_BY_WORD = {word: logical for logical, words in _LOGICAL.items() for word in words.split()}
_WORD = re.compile(r"[a-z_0-9]+")
Json = dict[str, Any]


def contract_document(facts: ContractFacts, version: str = FIRST_VERSION, promised: Collection[str] = ()) -> Json:
    """Return the contract for observed facts; it does not promise unknown facts.

    promised: case-folded names of columns that the contract includes even if only readers list them.
    """
    dataset = facts.dataset
    return _without_empty(
        {
            "apiVersion": API_VERSION,
            "kind": "DataContract",
            "id": str(uuid5(NAMESPACE_URL, f"{dataset.namespace}\n{dataset.dataset}")),
            "name": dataset.dataset,
            "version": version,
            "status": "active",
            "description": _without_empty({"purpose": facts.description, "limitations": _limitations_text(facts)}),
            "tags": _tag_texts(facts.tags),
            "servers": [_server_json(dataset)],
            "schema": [_schema_json(facts, promised)],
            "team": _team_json(facts),
            "slaProperties": sla_properties(facts.service),
        }
    )


def column_text(column: Column | ContractSource) -> str:
    """Return a column in the form of commands: `NAMESPACE/DATASET#COLUMN`."""
    whole = dataset_text(Dataset(column.namespace, column.dataset))
    return f"{whole}#{column.column}" if column.column else whole


def dataset_text(dataset: Dataset) -> str:
    """Return a dataset in the form of commands: `NAMESPACE/DATASET`."""
    return f"{dataset.namespace}/{dataset.dataset.lstrip('/')}"


def dataset_for_display(dataset: Dataset) -> str:
    """Return the display name of a dataset, or `NAMESPACE/DATASET` if it has none."""
    return dataset.display_name or dataset_text(dataset)


def column_for_display(column: ContractSource) -> str:
    """Return a column as `DATASET#COLUMN`, with the display name of the dataset if it has one."""
    return f"{dataset_for_display(column)}#{column.column}" if column.column else dataset_for_display(column)


def _schema_json(facts: ContractFacts, promised: Collection[str]) -> Json:
    name = facts.dataset.dataset
    writers = facts.writers
    return _without_empty(
        {
            "name": name.rstrip("/").rpartition("/")[2] or name or "dataset",
            "physicalName": dataset_text(facts.dataset),
            "physicalType": "table",
            "logicalType": "object",
            "description": facts.description,
            "tags": _tag_texts(facts.tags),
            "properties": [
                _property_json(column)
                for column in facts.columns
                if not column.readers_only or column.name.casefold() in promised
            ],
            "customProperties": _custom_properties(
                {
                    DATASET: {"namespace": facts.dataset.namespace, "name": name},
                    JOBS: [{"namespace": each.job.namespace, "name": each.job.name} for each in writers],
                    OPAQUE: [
                        {"namespace": each.job.namespace, "name": each.job.name} for each in writers if each.opaque
                    ],
                    INFLUENCES: [
                        {"column": column_text(each), "steps": [_step_json(step) for step in each.steps]}
                        for each in facts.influences
                    ],
                }
            ),
        }
    )


def _property_json(column: ContractColumn) -> Json:
    direct = [source for source in column.sources if source.distance == 1]
    return _without_empty(
        {
            "name": column.name,
            "physicalType": column.type,
            "logicalType": logical_type(column.type),
            "description": column.description,
            "tags": _tag_texts(column.tags),
            "classification": _classification(column),
            "transformSourceObjects": [column_text(source) for source in direct],
            "transformLogic": "\n".join(f"{column_text(each)}: {_describe_steps(each.steps)}" for each in direct),
            "transformDescription": _upstream_text(column),
            "customProperties": _custom_properties(
                {
                    LINEAGE: [_lineage_json(source) for source in column.sources],
                    HOLDS: [{"tag": each.tag, "exposure": each.exposure} for each in column.exposures],
                }
            ),
        }
    )


def _lineage_json(source: ContractSource) -> Json:
    return {
        "column": column_text(source),
        "into": column_text(source.into),
        "distance": source.distance,
        "job": f"{source.job.namespace}/{source.job.name}",
        "steps": [_step_json(step) for step in source.steps],
        "masked": source.masked,
    }


def _step_json(step: StepTransformation) -> Json:
    return _without_empty(
        {"type": step.type, "subtype": step.subtype, "masking": step.masking, "description": step.description}
    )


def _upstream_text(column: ContractColumn) -> str | None:
    """Return the upstream steps of a column as text, nearest steps first; None without known sources."""
    lines = [
        f"{_short_column_text(each.into)} comes from {_short_column_text(each)} "
        f"by job {each.job.name} ({_describe_steps(each.steps)})"
        for each in column.sources
    ]
    return "\n".join(lines) or None


def _short_column_text(column: Column | ContractSource) -> str:
    """Return a column as `DATASET#COLUMN` with the last two parts of the dataset's name."""
    return f"{'/'.join(column.dataset.strip('/').split('/')[-2:])}#{column.column}"


def _describe_steps(steps: Iterable[StepTransformation]) -> str:
    texts = (
        " ".join(filter(None, (step.type.lower(), (step.subtype or "").lower(), "masks" if step.masking else "")))
        + (f": {step.description}" if step.description else "")
        for step in steps
    )
    return "; ".join(dict.fromkeys(texts))


def _classification(column: ContractColumn) -> str | None:
    """Return the values of the column's classifying tags.

    Without such tags, returns the column's own tags and the tags that mark values it contains unmasked.
    """
    named = [tag.value for tag in column.tags if tag.key.casefold() in _CLASSIFYING]
    exposed = [each.tag for each in column.exposures if each.exposure == "exposed"]
    return ", ".join(named or sorted({*(tag.key.casefold() for tag in column.tags), *exposed})) or None


def _tag_texts(tags: Iterable[ContractTag]) -> list[str]:
    return [tag.key if tag.value.casefold() in ("", "true") else f"{tag.key}={tag.value}" for tag in tags]


def _team_json(facts: ContractFacts) -> Json | None:
    members = [_without_empty({"username": each.name, "role": each.type or "owner"}) for each in facts.owners]
    return {"members": members} if members else None


def _server_json(dataset: Dataset) -> Json:
    """Return the location of a dataset, with a server type of the standard if all its required members are known."""
    scheme, _, host = dataset.namespace.partition("://")
    location = dataset_text(dataset)
    if scheme in ("s3", "s3a"):
        return {"server": "observed", "type": "s3", "location": location}
    if scheme == "kafka":
        return {"server": "observed", "type": "kafka", "host": host or dataset.namespace}
    return {"server": "observed", "type": "custom", "location": location}


def _limitations_text(facts: ContractFacts) -> str | None:
    silent = [each.job.name for each in facts.writers if each.opaque]
    texts = [f"Written without column lineage by {', '.join(silent)}."] if silent else []
    if facts.truncated:
        texts.append("The dataset has more columns or sources than a contract can list.")
    return " ".join(texts) or None


def _custom_properties(values: Json) -> list[Json]:
    return [{"property": name, "value": value} for name, value in values.items() if value not in (None, [], "")]


def _without_empty(members: Json) -> Json:
    return {name: value for name, value in members.items() if value not in (None, [], {}, "")}


class ServiceLevels(NamedTuple):
    """Promised service levels; a level is None if the contract does not promise it.

    longest_s: maximum age of the newest write in seconds. rows: minimum number of rows of a write.
    """

    longest_s: float | None = None
    rows: float | None = None


def sla_properties(service: ContractService) -> list[dict[str, Any]]:
    """Return the `slaProperties` of a contract from observed writes; omits levels without observed values."""
    found: list[dict[str, Any]] = []
    if service.usual_seconds and service.longest_seconds:
        value, unit = _round_duration(service.usual_seconds)
        text = "The usual time between two observed writes."
        found.append({"property": FREQUENCY, "value": value, "unit": unit, "description": text})
        value, unit = _round_duration(service.longest_seconds, up=True)
        text = "The longest time between two writes before the next one is late, derived from observed writes."
        found.append({"property": LATENCY, "value": value, "unit": unit, "description": text})
    if service.rows:
        text = "The minimum number of rows per write: half of the observed number, rounded down."
        found.append(
            {"property": ROWS, "value": _half_rounded_to_first_digit(service.rows), "unit": "rows", "description": text}
        )
    return found


def parse_service_levels(properties: Any) -> ServiceLevels:
    """Parse the `slaProperties` of a contract; ignores properties with an unknown form."""
    found: dict[str, float] = {}
    for each in properties if isinstance(properties, list) else ():
        name, value = (each.get("property"), each.get("value")) if isinstance(each, dict) else (None, None)
        if name in (LATENCY, ROWS) and isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = value * (_seconds_per_unit(each.get("unit")) if name == LATENCY else 1)
    return ServiceLevels(found.get(LATENCY), found.get(ROWS))


def _seconds_per_unit(unit: Any) -> int:
    text = str(unit or "d").casefold()
    word = _WORDS.get(text) or _WORDS.get(text.removesuffix("s")) or text
    return _UNITS.get(word, _UNITS["d"])


def _round_duration(seconds: int, *, up: bool = False) -> tuple[int, str]:
    """Return a duration as value and unit, in the largest unit with a rounding error of at most a tenth.

    up: whether to round up.
    """
    for unit, length in reversed(_UNITS.items()):
        whole = -(-seconds // length) if up else round(seconds / length)
        if whole and abs(whole * length - seconds) <= seconds / 10:
            return whole, unit
    return seconds, "s"


def _half_rounded_to_first_digit(rows: int) -> int:
    """Return half of a count, rounded down to its first digit."""
    half = max(1, rows // 2)
    place = 10 ** (len(str(half)) - 1)
    return int(half // place * place)


def logical_type(sent: str | None) -> str:
    """Return the standard's logical type for a type as sent, such as `decimal(10,2)`; `string` if it is unknown.

    Maps become `object`, because the standard's JSON Schema requires key and value types of a map, which events do not
    contain.
    """
    text = (sent or "").strip().casefold()
    if text.endswith("[]"):
        return "array"
    found = _WORD.match(text)
    return _BY_WORD.get(found[0], "string") if found else "string"
