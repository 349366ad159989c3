"""Errors of failed runs: the facets that report them, a recorded failure of the Spark listener, and all interfaces."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import to_builtins
from typer.testing import CliRunner

from headwater.cli.answer_source import DataFolder
from headwater.cli.app import app
from headwater.events.error_facets import errors_in, exceptions_in_trace, failed_tests
from headwater.questions import definitions
from tests.reference.world_events import Json, at, dataset, facet, run_event, uuid
from tests.support.data.parsing import World
from tests.support.data.samples import body, sample_lines

SPARK = "01a1fdcf-6d9d-76cb-993a-65141f506ca4"
"""The run that failed in the recording."""
ZERO = "ZeroDivisionError: integer division or modulo by zero"
TAKEN_BACK = facet(_deleted=True)
SQL = "INSERT INTO gold.sales SELECT * FROM silver.sales"

JAVA = """org.example.Outer: it failed
\tat org.example.A.run(A.java:1)
\tSuppressed: org.example.Other: aside
\t\tat org.example.B.close(B.java:2)
Caused by: org.example.Middle: no way
in two lines
\tat org.example.C.run(C.java:3)
\t... 1 more
Caused by: org.example.Root: no such file
\tat org.example.D.run(D.java:4)
\t... 2 more
"""
PYTHON = """Traceback (most recent call last):
  File "a.py", line 1, in <module>
    read()
KeyError: 'id'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in <module>
    raise Failed("no id")
a.Failed: no id
"""


def test_the_cause_of_all_comes_first_and_no_line_is_lost() -> None:
    root, middle, outer = exceptions_in_trace(JAVA)
    assert root.what == "org.example.Root: no such file"
    assert middle == (
        "org.example.Middle: no way",
        ("in two lines", "\tat org.example.C.run(C.java:3)", "\t... 1 more"),
    )
    assert outer.what == "org.example.Outer: it failed"
    assert "\tSuppressed: org.example.Other: aside" in outer.trace
    assert [each.what for each in exceptions_in_trace(PYTHON)] == ["KeyError: 'id'", "a.Failed: no id"]
    shown = {line for each in exceptions_in_trace(JAVA) for line in (each.what, *each.trace)}
    assert shown == {line.removeprefix("Caused by: ") for line in JAVA.splitlines()}


def test_pythons_trace_inside_a_java_exception_is_the_cause_of_it() -> None:
    told = f"py4j.Py4JException: An error: {PYTHON}\n\tat py4j.Protocol.call(Protocol.java:1)"
    assert [each.what for each in exceptions_in_trace(told)] == [
        "KeyError: 'id'",
        "a.Failed: no id",
        "py4j.Py4JException: An error",
    ]
    assert exceptions_in_trace(told)[-1].trace == ("\tat py4j.Protocol.call(Protocol.java:1)",)


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "Caused by: ", "Traceback (most recent call last):", "\tat a(", "at a(b)\nCaused by: \nat c(d)"],
)
def test_what_is_cut_or_odd_is_taken_as_it_is(text: str) -> None:
    assert all(isinstance(each.what, str) for each in exceptions_in_trace(text))


def test_a_text_without_frames_is_no_trace() -> None:
    assert exceptions_in_trace("Database Error in model sales\n  relation does not exist") == []


def test_facets_of_any_name_tell_of_errors_and_others_do_not() -> None:
    found = errors_in(
        {
            "acme_failure": {"message": "disk full"},
            "acme": {"exception": {"message": "inside", "stackTrace": JAVA}},
            "errorMessage": {"message": "first", "programmingLanguage": "SQL"},
            "extractionError": {"errors": [{"errorMessage": "cannot parse", "task": "SELECT ?"}, {}, "x"]},
            "plain": {"message": "hello"},
            "rate": {"error": 0.1, "exception": None},
            "gone": {},
            "list": ["error"],
            "empty_error": {"message": ""},
        }
    )
    assert [(each.of, each.facet, each.message) for each in found] == [
        ("run", "errorMessage", "first"),
        ("run", "acme", "inside"),
        ("run", "acme_failure", "disk full"),
        ("extraction", "extractionError", "cannot parse"),
    ]
    assert found[1].causes[0].what == "org.example.Root: no such file"
    assert found[3].task == "SELECT ?"


def test_failed_tests_are_those_that_say_so() -> None:
    tests = [{"name": "a", "status": "fail", "expected": "1", "actual": "2"}, {"name": "b", "status": "pass"}, {}, "x"]
    assert [(each.name, each.expected, each.actual) for each in failed_tests("test", {"tests": tests})] == [
        ("a", "1", "2")
    ]
    told = [{"assertion": "not_null", "success": False, "column": "id"}, {"assertion": "unique", "success": True}]
    assert [(each.name, each.column) for each in failed_tests("x", {"assertions": told})] == [("not_null", "id")]
    assert failed_tests("test", None) == failed_tests("test", {"tests": {}}) == []


@pytest.mark.parametrize(
    ("version", "failed"),
    [
        ("1.54.0", ["unique"]),
        ("1.47.0", ["unique"]),
        ("1.46.0", ["unique", "not_null"]),
        ("0.9.0", ["unique", "not_null"]),
    ],
)
def test_a_test_that_dbt_skipped_has_not_failed(version: str, failed: list[str]) -> None:
    sent = [
        {"assertion": "unique", "success": False, "actual": "0"},
        {"assertion": "not_null", "success": False},
        {"assertion": "accepted_values", "success": True},
    ]
    producer = f"https://github.com/OpenLineage/OpenLineage/tree/{version}/integration/dbt"
    assert [each.name for each in failed_tests("x", {"assertions": sent}, producer)] == failed
    other = producer.replace("dbt", "great_expectations")
    assert [each.name for each in failed_tests("x", {"assertions": sent}, other)] == ["unique", "not_null"]


def test_errors_do_not_have_the_prefix_of_modules_of_airflow() -> None:
    prefix = "unusual_prefix_cfa1a9c9f485565ec2fbf230415be9a049744f08_"
    raised = f"{prefix}night.OutOfStock: 17 orders"
    trace = f'Traceback (most recent call last):\n  File "night.py", line 7, in load\n{raised}'
    (traced,) = errors_in({"errorMessage": {"message": "17 orders", "stackTrace": trace}})
    assert traced.causes[0].what == "night.OutOfStock: 17 orders"
    (untraced,) = errors_in({"errorMessage": {"message": f"Task failed: {raised}"}})
    assert untraced.message == "Task failed: night.OutOfStock: 17 orders"
    (other,) = errors_in({"errorMessage": {"message": "unusual_prefix_night.OutOfStock"}})
    assert other.message == "unusual_prefix_night.OutOfStock", "Airflow does not use this prefix"


def failed(number: int, *, run_facets: Json, **more: Any) -> bytes:
    return body(run_event("FAIL", at(number), uuid(number), ("jobs", "load"), run_facets=run_facets, **more))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a lake with the recording of a listener, and with failures in the forms of other producers."""
    world = World(tmp_path_factory.mktemp("errors") / "data")
    asserted = dataset(("s3://lake", "sales")) | {
        "inputFacets": {"dataQualityAssertions": facet(assertions=[{"assertion": "unique", "success": False}])}
    }
    world.append(
        *sample_lines("spark-3.5.7-listener-1.53.0.ndjson"),
        failed(1, run_facets={"errorMessage": facet(message="no table", programmingLanguage="SQL")},
               job_facets={"sql": facet(query=SQL)}, inputs=[asserted]),
        failed(2, run_facets={"errorMessage": facet(message="m" * 9_000, stackTrace="E\n" + "\tat a.b(c)\n" * 5_000)}),
        failed(3, run_facets={"errorMessage": facet(message="wrong")}),
        body(run_event("COMPLETE", at(4), uuid(3), ("jobs", "load"), run_facets={"errorMessage": TAKEN_BACK})),
    )  # fmt: skip
    while world.parser().commit_next():
        pass
    return world.folder


def asked(data: Path, run: str) -> Any:
    folder = DataFolder(data)
    sources = SimpleNamespace(open_views=folder.open_views, bronze=folder.bronze, rules=folder.rules)
    return to_builtins(definitions.run.ask(sources, {}, run=run))


@pytest.mark.slow
def test_a_recorded_failure_of_spark_shows_pythons_error_first(data: Path) -> None:
    (error,) = asked(data, SPARK)["errors"]
    assert (error["facet"], error["of"]) == ("spark.exception", "run")
    assert error["message"].startswith("Job aborted due to stage failure")
    first, python, stage = error["causes"]
    assert first["what"] == ZERO
    assert first["trace"][-2].endswith("map(lambda x:1//0).count())")
    assert first["telling"] == first["trace"][-6:], "Python's error is at the end of its trace"
    assert stage["telling"] == stage["trace"][:6], "Java's error is at the beginning of its trace"
    assert python["what"] == "org.apache.spark.api.python.PythonException"
    assert stage["what"].startswith("org.apache.spark.SparkException: Job aborted due to stage failure")
    assert "Traceback" not in stage["what"]
    assert "Driver stacktrace:" in stage["trace"]


@pytest.mark.slow
def test_an_answer_has_sql_and_tests_is_bounded_and_forgets_what_was_taken_back(data: Path) -> None:
    found = asked(data, uuid(1))
    assert (found["sql"], found["errors"][0]["message"], found["errors"][0]["causes"]) == (SQL, "no table", [])
    (test,) = found["failed_tests"]
    assert (test["name"], test["dataset"]) == ("unique", {"namespace": "s3://lake", "dataset": "sales"})
    (error,) = asked(data, uuid(2))["errors"]
    (cause,) = error["causes"]
    assert (len(error["message"]), len(cause["trace"]), cause["lines_left_out"]) == (4_000, 200, 4_800)
    assert asked(data, uuid(3))["errors"] == []


@pytest.mark.slow
def test_the_command_prints_the_cause_first_and_says_how_much_it_leaves_out(data: Path) -> None:
    printed = CliRunner().invoke(app, ["run", SPARK, "--data", str(data)])
    assert printed.exit_code == 0, printed.output
    assert printed.output.index(ZERO) < printed.output.index("SparkException: Job aborted")
    assert "more lines with --json" in printed.output
    assert json.loads(CliRunner().invoke(app, ["run", SPARK, "--data", str(data), "--json"]).output)["errors"]
    assert SQL in CliRunner().invoke(app, ["run", uuid(1), "--data", str(data)]).output
