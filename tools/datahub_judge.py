"""Validate metadata change proposals, one JSON object per line, with DataHub's classes, and print the errors.

With `--file PATH`, print the proposals that DataHub's file source reads from a file; with `--schema`, print the schema
of DataHub's topic. Runs in the environment of `tools.datahub_env`, which contains DataHub's package but not Headwater.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from datahub.emitter.mcp import MetadataChangeProposalWrapper  # type: ignore[import-not-found]
from datahub.ingestion.api.common import PipelineContext  # type: ignore[import-not-found]
from datahub.ingestion.source.file import GenericFileSource  # type: ignore[import-not-found]
from datahub.metadata import schema_classes as model  # type: ignore[import-not-found]
from datahub.metadata.schemas import getMetadataChangeProposalSchema  # type: ignore[import-not-found]
from datahub.metadata.urns import DatasetUrn  # type: ignore[import-not-found]
from datahub.specific.datajob import DataJobPatchBuilder  # type: ignore[import-not-found]
from datahub.specific.dataset import DatasetPatchBuilder  # type: ignore[import-not-found]
from datahub.utilities.urns.urn import Urn  # type: ignore[import-not-found]

EDGES = {"inputDatasetEdges": "add_input_dataset", "outputDatasetEdges": "add_output_dataset"}
EDGES |= {"inputDatajobEdges": "add_input_datajob"}


def wrong(proposal: dict[str, Any]) -> Iterator[str]:
    """Yield the reasons why DataHub would reject a proposal or read it differently."""
    yield from _wrong_urns(proposal["entityUrn"], proposal["entityType"])
    value = json.loads(proposal["aspect"]["value"])
    for urn in _urns(value):
        yield from _wrong_urns(urn, urn.split(":", 3)[2])
    if proposal["changeType"] == "PATCH":
        built = [each.to_obj() for each in _builder(proposal, value).build()]
        if [json.loads(each["aspect"]["value"]) for each in built] != [value]:
            yield f"DataHub's client writes {built}"
        return
    read = MetadataChangeProposalWrapper.from_obj(json.loads(json.dumps(proposal)))
    if not isinstance(read, MetadataChangeProposalWrapper) or not read.validate():
        yield "the proposal has no aspect that DataHub knows"
    elif (again := json.loads(read.to_obj()["aspect"]["value"])) != value and _without_defaults(again, value):
        yield f"DataHub reads {again}"
    elif proposal["aspectName"] == "datasetKey":
        key = DatasetUrn.from_string(proposal["entityUrn"]).to_key_aspect()
        if key != read.aspect:
            yield f"DataHub's key is {key}"


def _without_defaults(again: Any, value: Any) -> bool:
    """Return whether DataHub's copy changes a value of the original; additional defaults are not a change."""
    if isinstance(value, dict):
        return not isinstance(again, dict) or any(
            _without_defaults(again.get(key), each) for key, each in value.items()
        )
    if isinstance(value, list):
        return len(again) != len(value) or any(map(_without_defaults, again, value))
    return bool(again != value)


def _wrong_urns(urn: str, kind: str) -> Iterator[str]:
    try:
        read = Urn.from_string(urn)
    except Exception as error:
        yield f"{urn}: {error}"
        return
    if read.entity_type != kind or read.urn() != urn:
        yield f"{urn} is {read.urn()}, of a {read.entity_type}"


def _urns(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("urn:li:"):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _urns(each)


def _builder(proposal: dict[str, Any], value: Any) -> Any:
    """Return DataHub's client builder with the same patch."""
    of_dataset = proposal["entityType"] == "dataset"
    builder = (DatasetPatchBuilder if of_dataset else DataJobPatchBuilder)(proposal["entityUrn"])
    for operation in value["patch"] if isinstance(value, dict) else value:
        member, *path = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        operand = operation["value"]
        if member == "tags":
            builder.add_tag(model.TagAssociationClass.from_obj(operand))
        elif member == "owners":
            builder.add_owner(model.OwnerClass.from_obj(operand))
        elif member == "upstreams":
            builder.add_upstream_lineage(model.UpstreamClass.from_obj(operand))
        elif member == "fineGrainedLineages":
            way, to, _, of = path
            builder.add_fine_grained_lineage(
                model.FineGrainedLineageClass(
                    "FIELD_SET",
                    "FIELD_SET",
                    [of],
                    [to],
                    None if way == "NONE" else way,
                    operand["confidenceScore"],
                )
            )
        else:
            getattr(builder, EDGES[member])(model.EdgeClass.from_obj(operand))
    return builder


def _proposals_of(path: str) -> Iterator[dict[str, Any]]:
    source = GenericFileSource.create({"path": path}, PipelineContext(run_id="judge"))
    for unit in source.get_workunits():
        yield unit.metadata.to_obj()


def main() -> int:
    """Validate every line; prints one JSON object for each invalid proposal, then their total number."""
    match sys.argv[1:]:
        case ["--schema"]:
            print(json.dumps(json.loads(getMetadataChangeProposalSchema())))
            return 0
        case ["--file", path]:
            for proposal in _proposals_of(path):
                print(json.dumps(proposal))
            return 0
    count = 0
    for line in sys.stdin:
        proposal = json.loads(line)
        count += 1
        try:
            found = [*wrong(proposal)]
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        if found:
            print(json.dumps({"wrong": found, "proposal": proposal}))
    print(json.dumps({"judged": count}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
