"""Generates a contract in the Open Data Contract Standard 3.1 (bitol.io) from observed facts.

Facts without a member in the standard (every upstream step, tags whose values a column may contain) are in
`customProperties`. Their names are only defined here.
"""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from headwater.governance.contracts.odcs_service import sla_properties
from headwater.governance.contracts.odcs_types import logical_type
from headwater.questions.answers.answer_parts import Column, Dataset, StepTransformation
from headwater.questions.answers.contract_answers import ContractColumn, ContractFacts, ContractSource, ContractTag

API_VERSION = "v3.1.0"
FIRST_VERSION = "1.0.0"
DATASET, JOBS, OPAQUE, LINEAGE, HOLDS, INFLUENCES = (
    "dataset", "producingJobs", "jobsWithoutColumnLineage", "lineage", "holds", "influencedBy",
)  # fmt: skip
"""Names of custom properties."""

_CLASSIFYING = ("classification", "confidentiality", "sensitivity")
Json = dict[str, Any]


def document_of(facts: ContractFacts, version: str = FIRST_VERSION, promised: Collection[str] = ()) -> Json:
    """Return the contract for observed facts. Unknown facts are not promised.

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
            "description": _without_empty({"purpose": facts.description, "limitations": _limitations(facts)}),
            "tags": _tags(facts.tags),
            "servers": [_server(dataset)],
            "schema": [_schema(facts, promised)],
            "team": _team(facts),
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


def shown_dataset(dataset: Dataset) -> str:
    """Return the display name of a dataset, else its form for commands."""
    return dataset.display_name or dataset_text(dataset)


def shown_column(column: ContractSource) -> str:
    """Return a column with the display name of its dataset, else in its form for commands."""
    return f"{shown_dataset(column)}#{column.column}" if column.column else shown_dataset(column)


def _schema(facts: ContractFacts, promised: Collection[str]) -> Json:
    name = facts.dataset.dataset
    writers = facts.writers
    return _without_empty(
        {
            "name": name.rstrip("/").rpartition("/")[2] or name or "dataset",
            "physicalName": dataset_text(facts.dataset),
            "physicalType": "table",
            "logicalType": "object",
            "description": facts.description,
            "tags": _tags(facts.tags),
            "properties": [
                _property(column)
                for column in facts.columns
                if not column.readers_only or column.name.casefold() in promised
            ],
            "customProperties": _custom(
                {
                    DATASET: {"namespace": facts.dataset.namespace, "name": name},
                    JOBS: [{"namespace": each.job.namespace, "name": each.job.name} for each in writers],
                    OPAQUE: [
                        {"namespace": each.job.namespace, "name": each.job.name} for each in writers if each.opaque
                    ],
                    INFLUENCES: [
                        {"column": column_text(each), "steps": [_step(step) for step in each.steps]}
                        for each in facts.influences
                    ],
                }
            ),
        }
    )


def _property(column: ContractColumn) -> Json:
    direct = [source for source in column.sources if source.distance == 1]
    return _without_empty(
        {
            "name": column.name,
            "physicalType": column.type,
            "logicalType": logical_type(column.type),
            "description": column.description,
            "tags": _tags(column.tags),
            "classification": _classification(column),
            "transformSourceObjects": [column_text(source) for source in direct],
            "transformLogic": "\n".join(f"{column_text(each)}: {_describe_steps(each.steps)}" for each in direct),
            "transformDescription": _upstream_text(column),
            "customProperties": _custom(
                {
                    LINEAGE: [_lineage(source) for source in column.sources],
                    HOLDS: [{"tag": each.tag, "exposure": each.exposure} for each in column.exposures],
                }
            ),
        }
    )


def _lineage(source: ContractSource) -> Json:
    return {
        "column": column_text(source),
        "into": column_text(source.into),
        "distance": source.distance,
        "job": f"{source.job.namespace}/{source.job.name}",
        "steps": [_step(step) for step in source.steps],
        "masked": source.masked,
    }


def _step(step: StepTransformation) -> Json:
    return _without_empty(
        {"type": step.type, "subtype": step.subtype, "masking": step.masking, "description": step.description}
    )


def _upstream_text(column: ContractColumn) -> str | None:
    """Return the upstream path as text, nearest steps first."""
    lines = [
        f"{_short(each.into)} comes from {_short(each)} by job {each.job.name} ({_describe_steps(each.steps)})"
        for each in column.sources
    ]
    return "\n".join(lines) or None


def _short(column: Column | ContractSource) -> str:
    """Return a column with the last two parts of its dataset's name."""
    return f"{'/'.join(column.dataset.strip('/').split('/')[-2:])}#{column.column}"


def _describe_steps(steps: Iterable[StepTransformation]) -> str:
    texts = (
        " ".join(filter(None, (step.type.lower(), (step.subtype or "").lower(), "masks" if step.masking else "")))
        + (f": {step.description}" if step.description else "")
        for step in steps
    )
    return "; ".join(dict.fromkeys(texts))


def _classification(column: ContractColumn) -> str | None:
    """Return the value of a classifying tag, else the column's tags and those whose values it contains unmasked."""
    named = [tag.value for tag in column.tags if tag.key.casefold() in _CLASSIFYING]
    exposed = [each.tag for each in column.exposures if each.exposure == "exposed"]
    return ", ".join(named or sorted({*(tag.key.casefold() for tag in column.tags), *exposed})) or None


def _tags(tags: Iterable[ContractTag]) -> list[str]:
    return [tag.key if tag.value.casefold() in ("", "true") else f"{tag.key}={tag.value}" for tag in tags]


def _team(facts: ContractFacts) -> Json | None:
    members = [_without_empty({"username": each.name, "role": each.type or "owner"}) for each in facts.owners]
    return {"members": members} if members else None


def _server(dataset: Dataset) -> Json:
    """Return the location. The standard's own server types are used if all their required members are known."""
    scheme, _, host = dataset.namespace.partition("://")
    location = dataset_text(dataset)
    if scheme in ("s3", "s3a"):
        return {"server": "observed", "type": "s3", "location": location}
    if scheme == "kafka":
        return {"server": "observed", "type": "kafka", "host": host or dataset.namespace}
    return {"server": "observed", "type": "custom", "location": location}


def _limitations(facts: ContractFacts) -> str | None:
    silent = [each.job.name for each in facts.writers if each.opaque]
    texts = [f"Written without column lineage by {', '.join(silent)}."] if silent else []
    if facts.truncated:
        texts.append("The dataset has more columns or sources than a contract can list.")
    return " ".join(texts) or None


def _custom(values: Json) -> list[Json]:
    return [{"property": name, "value": value} for name, value in values.items() if value not in (None, [], "")]


def _without_empty(members: Json) -> Json:
    return {name: value for name, value in members.items() if value not in (None, [], {}, "")}
