"""Events are validated against the published schemas. The samples' own manifest contains the expected results."""

import json
import socket
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from headwater.events.spec_index import CORE, PUBLISHED, facet_schema, published_schema
from headwater.events.validation import MOST_PROBLEMS, Problem, validate_event
from tests.support.paths import EVENTS, ROOT

MANIFEST = [json.loads(line) for line in (EVENTS / "MANIFEST.jsonl").read_text().splitlines()]
SAMPLES = [row for row in MANIFEST if row["kind"] != "facet-fragment"]
FRAGMENTS = [row for row in MANIFEST if row["kind"] == "facet-fragment"]
LOOKUPS = {
    "exact": "exact",
    "by-name-newest": "newest",
    "base-only": "base",
    "unmapped": "unmapped",
    "no-url": "missing",
}

PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/client"
SCHEMA_FACET = f"{PUBLISHED}spec/facets/1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet"
CUSTOM = f"{CORE}#/$defs/RunFacet"


def sample(row: dict[str, Any]) -> dict[str, Any]:
    line: dict[str, Any] = json.loads((EVENTS / row["file"]).read_text().splitlines()[row["line"] - 1])
    return line


def label(row: dict[str, Any]) -> str:
    return f"{row['file']}:{row['line']}"


def run_event(**changes: Any) -> dict[str, Any]:
    event = {
        "eventTime": "2024-01-31T12:00:00Z",
        "eventType": "START",
        "producer": PRODUCER,
        "schemaURL": f"{CORE}#/$defs/RunEvent",
        "run": {"runId": "019a2b3c-0000-7000-8000-000000000000"},
        "job": {"namespace": "spark", "name": "load"},
    }
    return event | changes


def with_run_facets(**facets: Any) -> dict[str, Any]:
    return run_event(run={"runId": "019a2b3c-0000-7000-8000-000000000000", "facets": facets})


def with_output_facets(**facets: Any) -> dict[str, Any]:
    return run_event(outputs=[{"namespace": "s3://bucket", "name": "t", "facets": facets}])


def facet(schema_url: str | None, **content: Any) -> dict[str, Any]:
    return {"_producer": PRODUCER, **({"_schemaURL": schema_url} if schema_url else {}), **content}


def errors(event: dict[str, Any]) -> list[Problem]:
    return [problem for problem in validate_event(event) if problem.severity == "error"]


def is_of_a_facet_schema(problem: Problem) -> bool:
    return "/spec/facets/" in (problem.schema or "")


@pytest.mark.parametrize("row", SAMPLES, ids=label)
def test_the_core_verdict_on_every_sample_event_is_the_manifests(row: dict[str, Any]) -> None:
    core = [problem for problem in errors(sample(row)) if not is_of_a_facet_schema(problem)]

    assert (not core) == row["valid_core_formats"]
    # Without format assertions, only formats may make the manifest's two results differ.
    assert all("expected a" in problem.message for problem in core) or not row["valid_core"]


@pytest.mark.parametrize("row", SAMPLES, ids=label)
def test_the_facet_verdict_on_every_sample_event_is_the_manifests(row: dict[str, Any]) -> None:
    found = {problem.facet for problem in errors(sample(row)) if is_of_a_facet_schema(problem)}

    assert found == {error.partition(":")[0].partition("/")[2] for error in row["facet_errors"]}


@pytest.mark.parametrize("row", SAMPLES, ids=label)
def test_the_schema_of_every_sample_facet_is_found_as_the_manifest_says(row: dict[str, Any]) -> None:
    event = sample(row)
    holders = [event.get("run"), event.get("job"), event.get("dataset")]
    holders += event.get("inputs", []) + event.get("outputs", [])
    maps = [h.get(key, {}) for h in holders if h for key in ("facets", "inputFacets", "outputFacets")]
    found = Counter(facet_schema(each.get("_schemaURL")).lookup for facets in maps for each in facets.values())

    assert found == Counter({LOOKUPS[name]: count for name, count in row["facet_schema_lookup"].items()})


@pytest.mark.parametrize("row", FRAGMENTS, ids=label)
def test_the_verdict_on_every_facet_example_of_the_specification_is_the_manifests(
    row: dict[str, Any],
) -> None:
    event = run_event(job={"namespace": "spark", "name": "load", "facets": sample(row)})
    found = facet_schema(sample(row)[row["facet"]]["_schemaURL"])

    assert found.lookup == LOOKUPS[row["facet_schema"]]
    # The manifest contains null if no schema is known. Such a facet is never an error.
    assert (not errors(event)) == (row["facet_valid"] is not False)


def test_what_the_spark_listener_really_sends_has_two_kinds_of_problems_only() -> None:
    lines = (EVENTS / "spark-3.5.7-listener-1.53.0.ndjson").read_text().splitlines()
    found = Counter((p.facet, p.message) for line in lines for p in validate_event(json.loads(line)))

    assert found == {
        ("debug", '"_producer" is required, but missing'): 8,
        ("debug", '"_schemaURL" is required, but missing'): 8,
        ("dataSource", 'is "file", expected an absolute URI, like https://example.com'): 25,
    }


def test_a_problem_says_where_what_and_against_which_schema() -> None:
    fields = [{"name": "id", "type": "int"}, {"type": 7}]
    found = validate_event(with_output_facets(schema=facet(SCHEMA_FACET, fields=fields)))

    where = "outputs[0].facets.schema.fields[1]"
    assert found == [
        Problem(where, "schema", '"name" is required, but missing', SCHEMA_FACET),
        Problem(f"{where}.type", "schema", "is 7, expected string", SCHEMA_FACET),
    ]


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"eventType": "BEGIN"}, "eventType", 'is "BEGIN", expected one of "START", "RUNNING", "COMPLETE"'),
        ({"eventTime": "2024-01-31"}, "eventTime", 'is "2024-01-31", expected a time with its zone'),
        ({"producer": None}, "producer", "is null, expected string"),
        ({"run": {"runId": "abc"}}, "run.runId", 'is "abc", expected a UUID'),
        ({"job": [1]}, "job", "is an array, expected object"),
        ({"inputs": {"a": 1}}, "inputs", "is an object, expected array"),
        ({"inputs": [{"namespace": "n"}]}, "inputs[0]", '"name" is required, but missing'),
        (
            {"run": {"runId": "019a2b3c-0000-7000-8000-000000000000", "facets": 5}},
            "run.facets",
            "is 5, expected object",
        ),
    ],
)
def test_a_broken_core_is_explained(changes: dict[str, Any], path: str, message: str) -> None:
    [problem] = validate_event(run_event(**changes))

    assert problem.path == path
    assert problem.message.startswith(message)


def test_what_is_none_of_the_three_events_is_one_problem() -> None:
    assert [p.message for p in validate_event({"eventTime": "x"})] == [
        "has no run, job or dataset, expected a RunEvent, JobEvent or DatasetEvent"
    ]


def test_a_choice_between_forms_is_explained_by_the_form_that_was_meant() -> None:
    url = f"{PUBLISHED}spec/facets/1-0-0/BaseSubsetDatasetFacet.json#/$defs/OutputSubsetOutputDatasetFacet"
    meant = {"type": "location", "locations": "s3://bucket"}
    unknown = {"type": "moon"}

    [first] = validate_event(with_output_facets(subset=facet(url, outputCondition=meant)))
    [second] = validate_event(with_output_facets(subset=facet(url, outputCondition=unknown)))

    assert first.path == "outputs[0].facets.subset.outputCondition.locations"
    assert first.message == 'is "s3://bucket", expected array'
    assert second.message == "is an object, which matches none of the 4 allowed forms"


def test_a_custom_facet_needs_its_base_and_nothing_else() -> None:
    assert validate_event(with_run_facets(mine=facet(CUSTOM, anything=[1, {"deep": None}]))) == []
    assert [p.message for p in errors(with_run_facets(mine=facet(None, x=1)))] == [
        '"_schemaURL" is required, but missing'
    ]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/schemas/1-0-0/TagsJobFacet.json",
        "https://github.com/OpenLineage/OpenLineage/blob/v1-0-0/spec/OpenLineage.yml#MyCustomJobFacet",
        "https://raw.githubusercontent.com/OpenLineage/OpenLineage/main/spec/OpenLineage.json#/definitions/SqlJobFacet",
        "https://openlineage.io/spec/1-0-1/OpenLineage.json#/definitions/RunFacet",
        "https://openlineage.io/spec/facets/9-0-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
        "https://openlineage.io/spec/facets/1-0-0/LineageFacet.json",
        "https://openlineage.io/spec/facets/../../../secrets.json",
        "https://openlineage.io/spec/facets/1-0-0/" + "a" * 600 + ".json",
        "not a url",
    ],
)
def test_a_facet_of_an_unknown_schema_is_an_info_and_no_error(url: str) -> None:
    assert facet_schema(url).lookup == "unmapped"
    found = validate_event(with_run_facets(mine=facet(url, anything=1)))

    assert [p.path for p in found if p.severity == "info"] == ["run.facets.mine"]
    assert [p.path for p in found if p.severity == "error"] == ([] if ":" in url else ["run.facets.mine._schemaURL"])


@pytest.mark.parametrize(
    ("url", "lookup", "means"),
    [
        (
            "file:/__w/1/s/client/java/../../spec/facets/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
            "newest",
            "1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
        ),
        (
            "https://github.com/OpenLineage/OpenLineage/blob/main/spec/facets/DocumentationJobFacet.json",
            "newest",
            "1-1-0/DocumentationJobFacet.json#/$defs/DocumentationJobFacet",
        ),
        (
            "https://openlineage.io/spec/facets/1-9-0/SchemaDatasetFacet.json",
            "newest",
            "1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
        ),
        (
            "https://openlineage.io/spec/facets/1-0-0/SqlJobFacet.json#/$defs/SqlJobFacet",
            "exact",
            "1-0-0/SQLJobFacet.json#/$defs/SQLJobFacet",
        ),
        (
            "https://openlineage.io/spec/facets/1-0-0/LineageFacet.json#/$defs/LineageJobFacet",
            "exact",
            "1-0-0/LineageFacet.json#/$defs/LineageJobFacet",
        ),
        (  # a definition within a facet's schema must not be used for the whole facet
            "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/InputField",
            "exact",
            "1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet",
        ),
    ],
)
def test_every_way_to_write_a_schema_url_finds_its_definition(url: str, lookup: str, means: str) -> None:
    assert facet_schema(url).lookup == lookup
    assert facet_schema(url).url == f"{PUBLISHED}spec/facets/{means}"


def test_fabrics_file_address_is_checked_like_the_published_schema() -> None:
    url = "file:/__w/1/s/client/java/../../spec/facets/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet"

    assert validate_event(with_output_facets(schema=facet(url, fields=[]))) == []
    assert [p.message for p in validate_event(with_output_facets(schema=facet(url, fields=3)))] == [
        "is 3, expected array"
    ]


def test_a_dataset_facet_declared_deleted_needs_no_content() -> None:
    gone = facet(
        f"{PUBLISHED}spec/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet",
        _deleted=True,
    )

    assert validate_event(with_output_facets(columnLineage=gone)) == []
    assert errors(with_output_facets(columnLineage=gone | {"_deleted": False}))


def test_no_address_in_an_event_is_ever_opened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        root = f"http://127.0.0.1:{server.getsockname()[1]}"
        urls = [
            f"{root}/spec/facets/1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
            f"{root}/spec/2-0-2/OpenLineage.json#/$defs/RunFacet",
            root,
        ]
        facets = {f"f{at}": facet(url) | {"$ref": url, "$schema": url, "$id": url} for at, url in enumerate(urls)}
        event = with_run_facets(**facets) | {"schemaURL": urls[1], "producer": root, "$schema": root}

        assert errors(event) == []
        for url in urls:
            with pytest.raises(LookupError):
                published_schema(url)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_importing_reads_no_schema_and_checking_reads_only_those_the_event_needs() -> None:
    program = """
import json, sys
opened = []
sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "open" else None)
from headwater.events.validation import validate_event
def schemas():
    names = (name.replace(chr(92), "/").partition("events/spec/")[2] for name in opened)
    return sorted(filter(None, names))
before = schemas()
validate_event(json.loads(sys.stdin.read()))
print(json.dumps([before, schemas()]))
"""
    event = json.dumps(with_output_facets(schema=facet(SCHEMA_FACET)))
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=event,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )

    assert json.loads(done.stdout) == [
        [],
        ["index.json", "spec/2-0-2/OpenLineage.json", "spec/facets/1-2-0/SchemaDatasetFacet.json"],
    ]


HOSTILE = ["\x1b[2J\x00\r\n", "\u202egnp.exe\u2066", "k" * 1_000_000, 'a"b\\c.d[0]', "", "\ud800", "größe"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_keys_and_texts_stay_printable_and_short(text: str) -> None:
    custom = {text: {text: 1}}
    schema = facet(SCHEMA_FACET, fields=[{text: text, "type": [text]}], **{text: text})
    event = with_output_facets(schema=schema) | {"eventType": text, "producer": {text: 1}}
    event["run"] = {"runId": text, "facets": custom}

    found = validate_event(event)

    assert found
    for problem in found:
        for words, longest in ((problem.path, 240), (problem.message, 400), (problem.facet or "", 200)):
            assert words.isprintable()
            assert len(words) <= longest


def test_half_a_surrogate_pair_is_named_where_it_matters_and_hides_no_other_facet() -> None:
    run_url = f"{PUBLISHED}spec/facets/1-0-1/NominalTimeRunFacet.json#/$defs/NominalTimeRunFacet"
    found = validate_event(
        with_output_facets(
            a=facet(SCHEMA_FACET, fields=[{"name": "\udc00"}]),  # JSON allows it, and the schema does not forbid it
            b=facet(run_url, nominalStartTime="\ud800"),
            c=facet(SCHEMA_FACET, fields=0),
        )
    )

    assert [(p.facet, p.message[:31]) for p in found] == [
        ("b", "could not be checked: a text in"),
        ("c", "is 0, expected array"),
    ]


def test_nesting_beyond_every_limit_is_never_a_crash() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}

    assert validate_event(with_run_facets(plan=facet(CUSTOM, plan=deep))) == []
    assert validate_event(run_event(job={"namespace": "n", "name": "j", "more": deep})) == []
    assert next(p.message for p in validate_event(run_event(eventType=deep))).startswith("is an object")
    [problem] = validate_event(with_output_facets(schema=facet(SCHEMA_FACET, fields=deep)))
    assert problem.message.startswith("could not be checked: it has more than 250 levels")


def test_numbers_beyond_what_python_prints_are_no_obstacle() -> None:
    found = validate_event(run_event(eventType=10**5_000))

    assert {p.path for p in found} == {"eventType"}
    assert all("beyond 64 bits" in p.message or len(p.message) < 400 for p in found)


def test_an_event_with_countless_problems_lists_the_first_and_says_so() -> None:
    found = validate_event(with_output_facets(schema=facet(SCHEMA_FACET, fields=[{}] * 5_000)))

    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1] == Problem("event", None, "has more problems than this list")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
SOME_URL = st.sampled_from([SCHEMA_FACET, CUSTOM, "http://x.example/y", "relative", ""])
FACETS = st.dictionaries(
    st.text(max_size=3),
    JSON | st.fixed_dictionaries({"_producer": SOME_URL}, optional={"_schemaURL": st.just(CUSTOM), "_deleted": JSON}),
    max_size=2,
)
ENTITY = JSON | st.fixed_dictionaries(
    {"namespace": st.text(max_size=3), "name": st.text(max_size=3)},
    optional={"facets": FACETS | JSON, "inputFacets": FACETS, "outputFacets": FACETS, "runId": JSON},
)
RUN = st.fixed_dictionaries({"runId": st.uuids().map(str) | JSON}, optional={"facets": FACETS})
ANY_EVENT = st.fixed_dictionaries(
    {},
    optional={
        "eventTime": st.sampled_from(["2024-01-31T12:00:00Z", "2024-01-31T12:00:00+01:00", "today"]),
        "eventType": st.sampled_from(["START", "OTHER", "start"]),
        "producer": SOME_URL,
        "schemaURL": SOME_URL,
        "run": RUN | JSON,
        "job": ENTITY,
        "dataset": ENTITY,
        "inputs": st.lists(ENTITY, max_size=2) | JSON,
        "outputs": st.lists(ENTITY, max_size=2),
        "more": JSON,
    },
)
WHOLE_CORE = Draft202012Validator({"$ref": CORE}, retriever=published_schema, validate_formats=True)


@settings(max_examples=400, deadline=None)
@given(event=ANY_EVENT)
@pytest.mark.slow
def test_the_core_verdict_is_that_of_the_whole_core_schema(event: dict[str, Any]) -> None:
    # There is one exception: the schema accepts a job next to a dataset if one of them is invalid, but Headwater never
    # does.
    is_two_events = {"job", "dataset"} <= event.keys() and "run" not in event

    assert (errors(event) == []) == (WHOLE_CORE.is_valid(event) and not is_two_events)


@settings(max_examples=200, deadline=None)
@given(event=ANY_EVENT, content=st.dictionaries(st.sampled_from(["fields", "_deleted", "x"]), JSON))
@pytest.mark.slow
def test_no_event_raises_and_every_problem_can_be_printed(event: dict[str, Any], content: dict[str, Any]) -> None:
    event |= {
        "outputs": [{"namespace": "n", "name": "t", "facets": {"schema": content | {"_schemaURL": SCHEMA_FACET}}}]
    }

    assert all(f"{p.path}{p.message}{p.facet}".isprintable() for p in validate_event(event))
