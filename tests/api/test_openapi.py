"""The OpenAPI document describes every served route and matches the answers to generated requests. Its page."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import jsonschema_rs
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from headwater.api import openapi, routes
from headwater.api.contract_routes import contract_yaml
from headwater.api.routes import BASE, IDENTITY_ROUTES, ROUTES, SINK_ROUTES
from headwater.intake.event_log import RecordKind
from headwater.intake.receiver import Refusal
from headwater.intake.receiver.refusals import Refusals
from headwater.questions import definitions
from headwater.questions.answer_types.lists import Events, RefusedRequests, RejectedEvents
from tests.reference.world_events import at, dataset, dataset_event, uuid
from tests.support.data.contract_judge import is_valid
from tests.support.data.keyed import READ_KEY
from tests.support.data.parsing import World, event
from tests.support.data.shop import Asker
from tests.support.few_of_many import few_of

pytestmark = pytest.mark.slow

load_all_checks()
LISTS = (routes.events, routes.rejected, routes.refused)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ASKED = {
    "dataset": "silver/customers", "fromDataset": "landing/customers", "toDataset": "silver/customers",
    "from": "2026-03-01",
    "entity": "job", "name": "sql", "q": "customers", "run": uuid(2),
}  # fmt: skip
"""Default values for required parameters of questions."""

OF_A_SINK = [route for route in SINK_ROUTES if "{sink}" in route.path]
OF_A_SINK += [route for route in IDENTITY_ROUTES if route.method == "POST"]
"""The shop has no sinks and no keys: see tests/sinks/test_api.py and tests/auth/test_running.py.

It has no incidents either: see tests/questions/test_incidents.py.
"""

MORE = {"impact": {"paths": "true"}, "edge": {"fromDataset": "bronze/customers"}, "lineage": {"column": "email"}}


@pytest.fixture(scope="module")
def document(shop_to_read: Asker) -> Any:
    return shop_to_read.client.get("/openapi.json").json()


def test_every_route_of_the_document_is_served(shop_to_read: Asker, document: Any) -> None:
    assert document["openapi"] == "3.1.0"
    for path, operations in document["paths"].items():
        for method in operations:
            if path.endswith("/live"):
                continue
            answer = shop_to_read.client.request(method, path.replace("{run}", "x"))
            assert (answer.status_code, "does not exist" in answer.text) != (404, True), path
            assert answer.status_code != 405, path


@pytest.mark.parametrize(
    "route",
    [
        route
        for route in ROUTES
        if route.answer and route not in OF_A_SINK and route not in (contract_yaml, definitions.incident)
    ],
    ids=lambda route: route.name,
)
def test_an_answer_that_says_something_is_of_its_schema(shop_to_read: Asker, document: Any, route: Any) -> None:
    asked = {each.name: ASKED[each.name] for each in route.parameters if each.required} | MORE.get(route.name, {})
    path = f"{BASE}/{route.path.replace('{run}', asked.pop('run', ''))}"
    answer = shop_to_read.client.request(route.method, path, params=asked)
    assert answer.status_code == 200, answer.text
    schema = {"$ref": f"#/components/schemas/{route.answer.__name__}", "components": document["components"]}
    jsonschema_rs.validate(schema, answer.json())


def test_a_contract_is_a_file_of_its_own_standard(shop_to_read: Asker) -> None:
    answer = shop_to_read.client.get(f"{BASE}/contract.yml", params={"dataset": "silver/customers"})
    assert (answer.headers["content-type"], "silver_customers.yml" in answer.headers["content-disposition"]) == (
        "application/yaml",
        True,
    )
    is_valid(answer.text)


def test_lists_of_what_is_stored_and_what_is_not_are_of_their_shapes(tmp_path: Path) -> None:
    """A dataset event has no run, and a gap has no body. A running receiver would refuse these records."""
    world, refusals = World(tmp_path), Refusals()
    refusals.add(Refusal(413, "large", "Too large.", "Send less."), "/api/v1/lineage", None, None)
    world.append_to_end_of_segment(event(1))
    lost = world.append_to_end_of_segment(event(2))
    world.append(b"{}", event(3), json.dumps(dataset_event(at(1), dataset(("n", "d")))).encode())
    world.append(*(record.body for record in refusals.take_notes()), kind=RecordKind.REFUSAL)
    lost.unlink()
    world.parser().commit_next()
    found = [route.ask(SimpleNamespace(bronze=world.bronze), {}) for route in LISTS]
    assert [type(each) for each in found] == [Events, RejectedEvents, RefusedRequests]
    assert all(each.items for each in found)
    assert {item.body for item in found[1].items} == {None, "{}"}


def test_every_answer_is_typed_to_its_last_member() -> None:
    schemas = openapi.openapi_document(ROUTES)["components"]["schemas"]
    untyped = {path for name, schema in schemas.items() for path in _untyped(name, schema)}
    # facets have the form that producers sent
    assert {path.rpartition(".")[2] for path in untyped} == {"facet", "facets"}


def _untyped(path: str, schema: Any) -> Iterator[str]:
    """Yield the members without a fixed type: any value, or an object with any members."""
    inner = schema.get("anyOf", ())
    open_object = (
        schema.get("type") == "object" and "properties" not in schema and not schema.get("additionalProperties")
    )
    if open_object or not {"type", "$ref", "enum", "anyOf"} & schema.keys():
        yield path
    for each in (
        *inner,
        *(schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)),
    ):
        yield from _untyped(path, each)
    for name, member in schema.get("properties", {}).items():
        yield from _untyped(f"{path}.{name}", member)


@pytest.mark.parametrize("examples", few_of([2, 20], 1))
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_generated_request_is_answered_against_the_document(
    shop_to_read: Asker, document: Any, mode: GenerationMode, examples: int
) -> None:
    base_url = str(shop_to_read.client.base_url)
    with requests.Session() as session:
        for found in schemathesis.openapi.from_dict(document).get_all_operations():
            operation = cast(Any, found).ok()
            if operation.path.endswith("/live"):
                continue  # the answer has no end
            if mode is GenerationMode.NEGATIVE and not _can_be_wrong(operation.definition.raw):
                continue

            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: Any) -> None:
                answer = case.call(base_url=base_url, session=session, timeout=60)
                case.validate_response(answer, checks=CHECKS)

            check()


def _can_be_wrong(operation: Any) -> bool:
    """Return whether a request can be invalid. A run id cannot, because any text is one."""
    queried = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    return bool(queried) or "requestBody" in operation


def test_the_page_needs_no_other_host(shop_to_read: Asker) -> None:
    answer = shop_to_read.client.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert re.findall(r"""(?:src|href|@import|url\()\s*=?\s*["']?(?:https?:)?//""", answer.text) == []
    assert "innerHTML" not in answer.text


def test_the_document_needs_a_key_where_there_are_keys_and_the_page_asks_for_it(keyed_to_read: str) -> None:
    with httpx.Client(base_url=keyed_to_read, timeout=60) as client:
        assert client.get("/openapi.json").status_code == 401
        assert client.get(f"/openapi.json?code={READ_KEY}").status_code == 200
        page = client.get("/docs")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
