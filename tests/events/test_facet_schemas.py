"""Every facet definition in the specification: the smallest facet is valid, and one without a required part is not."""

from importlib.resources import files
from typing import Any

import msgspec
import pytest

from headwater.events.spec_index import CORE, PUBLISHED, facet_schema, published_schema
from headwater.events.validation import Problem, validate_event

INDEX = msgspec.json.decode(files("headwater.events").joinpath("spec", "index.json").read_bytes())
FILES = [
    f"{PUBLISHED}spec/facets/{version}/{name}.json"
    for name, entry in INDEX["facets"].items()
    for version in entry["versions"]
]
DEFINITIONS = [
    f"{url}#/$defs/{name}" for url in FILES for name in published_schema(url)["$defs"] if name.endswith("Facet")
]
SAMPLES = {
    "uri": "https://example.com/x",
    "uuid": "019a2b3c-0000-7000-8000-000000000000",
    "date-time": "2024-01-31T12:00:00Z",
}
SCALARS: dict[str, Any] = {
    "string": "x",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "null": None,
}


def short(url: str) -> str:
    return url.removeprefix(f"{PUBLISHED}spec/facets/").replace(".json#/$defs/", "#")


def resolved(url: str) -> tuple[str, dict[str, Any]]:
    """Return the file's address and the definition to which a reference points."""
    address, _, pointer = url.partition("#/$defs/")
    definition: dict[str, Any] = published_schema(address)["$defs"][pointer]
    return address, definition


def target(address: str, schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    reference = schema["$ref"]
    return resolved(f"{address}{reference}" if reference.startswith("#") else reference)


def smallest(address: str, schema: dict[str, Any]) -> Any:
    """Build the smallest value that a schema of this specification allows."""
    if "$ref" in schema:
        return smallest(*target(address, schema))
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if "format" in schema:
        return SAMPLES[schema["format"]]
    if schema.get("type") not in {None, "object"}:
        return SCALARS[schema["type"]]
    parts = [smallest(address, part) for part in [*schema.get("allOf", []), *schema.get("oneOf", [])[:1]]]
    wanted = schema.get("required", [])
    properties = schema.get("properties", {})
    value = {name: smallest(address, properties.get(name, {"type": "string"})) for name in wanted}
    for part in parts:
        value |= part
    return value


def required(address: str, schema: dict[str, Any]) -> set[str]:
    if "$ref" in schema:
        return required(*target(address, schema))
    parts = [*schema.get("allOf", []), *schema.get("oneOf", [])[:1]]
    return set(schema.get("required", [])).union(*(required(address, part) for part in parts))


def smallest_facet(url: str) -> dict[str, Any]:
    facet: dict[str, Any] = smallest(*resolved(url))
    return facet | {"_schemaURL": url}


def errors(facet: dict[str, Any]) -> list[Problem]:
    event = {
        "eventTime": "2024-01-31T12:00:00Z",
        "producer": "https://example.com/producer",
        "schemaURL": f"{CORE}#/$defs/JobEvent",
        "job": {"namespace": "n", "name": "j"},
        "outputs": [{"namespace": "n", "name": "t", "outputFacets": {"it": facet}}],
    }
    return validate_event(event)


def test_every_published_version_of_every_facet_is_carried() -> None:
    assert len(FILES) == 94
    assert all(published_schema(url)["$id"] == url for url in FILES)
    assert {short(url).partition("#")[0] for url in DEFINITIONS} == {short(url).removesuffix(".json") for url in FILES}


@pytest.mark.parametrize("url", DEFINITIONS, ids=short)
def test_the_smallest_facet_of_a_definition_is_valid(url: str) -> None:
    assert facet_schema(url).url == url
    assert errors(smallest_facet(url)) == []


@pytest.mark.parametrize("url", DEFINITIONS, ids=short)
def test_a_facet_without_one_of_its_required_properties_is_invalid(url: str) -> None:
    address, definition = resolved(url)
    wanted = required(address, definition)

    assert {"_producer", "_schemaURL"} <= wanted
    for name in wanted - {"_schemaURL"}:  # without `_schemaURL`, the schema is unknown
        facet = smallest_facet(url)
        del facet[name]
        found = errors(facet)
        assert any(f'"{name}" is required' in problem.message or "forms" in problem.message for problem in found)


@pytest.mark.parametrize("url", DEFINITIONS, ids=short)
def test_a_facet_whose_producer_is_no_address_is_invalid(url: str) -> None:
    [problem] = errors(smallest_facet(url) | {"_producer": "me"})

    assert problem.path == "outputs[0].outputFacets.it._producer"
