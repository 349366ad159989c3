"""A question is declared once, as a function. Its route, document and command are derived from it."""

import json
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from headwater.api.openapi import openapi_document
from headwater.api.routes import BASE, ROUTES
from headwater.cli.printing import print_value
from headwater.cli.question_commands import add_command
from headwater.common.errors import WrongQuestion
from headwater.lineage.snapshots.as_of import AsOf
from headwater.questions import definitions
from headwater.questions import parameters as p
from headwater.questions.answer_types.common import AnswerStruct
from headwater.questions.declaring import Help, Question, question, questions_in
from headwater.questions.moments import Microseconds
from headwater.questions.registry import QUESTIONS
from tests.support.data.parsing import World

Size = Annotated[int, Help("At least so many columns.", 2, 9)]


class Wide(AnswerStruct):
    """The parameters of the question."""

    dataset: str
    size: int
    strict: bool
    since: int | None
    every: bool


@question("wide")
def wide(
    _: Any, *, dataset: p.Dataset, min_size: Size = 3, strict: p.Strict = False, since: p.Since = None, as_of: AsOf
) -> Wide:
    """Datasets with many columns."""
    return Wide(dataset, min_size, strict, since, as_of.includes_outdated)


def test_a_question_of_each_topic_is_named_where_routes_and_commands_look() -> None:
    topics = [import_module(f"{definitions.__name__}.{each.name}") for each in iter_modules(definitions.__path__)]
    assert {each for topic in topics for each in questions_in(vars(topic))} == {*QUESTIONS.load_built_in().values()}


def asked(**sent: str) -> Wide:
    found: Wide = wide.ask(SimpleNamespace(), sent)
    return found


def test_what_is_left_out_or_empty_is_the_default_and_the_rest_is_read() -> None:
    assert asked(dataset="x", minSize="", view="") == Wide("x", 3, False, None, False)
    said = asked(dataset="x", minSize="9", strict="true", since="1970-01-01T00:00:01Z", view="all")
    assert said == Wide("x", 9, True, Microseconds(1_000_000), True)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "dataset= is missing. Write dataset=DATASET"),
        ({"dataset": "x", "minSize": "1"}, "minSize=1 is not between 2 and 9"),
        ({"dataset": "x", "minSize": "10"}, "minSize=10 is not between 2 and 9"),
        ({"dataset": "x", "minSize": "2.5"}, "is not a whole number"),
        ({"dataset": "x", "strict": "1"}, "is not a boolean"),
        ({"dataset": "x", "since": "now"}, "since='now' is not a time"),
        ({"dataset": "x", "view": "old"}, "Write current, newest or all"),
        ({"dataset": "x", "min_size": "3"}, "It takes dataset, minSize, strict, since, view, asOf, knownAt, seenSince"),
    ],
)
def test_what_is_out_of_form_is_refused_with_the_form(sent: dict[str, str], words: str) -> None:
    with pytest.raises(WrongQuestion) as refused:
        wide.ask(SimpleNamespace(), sent)
    assert words in str(refused.value)


def test_the_document_has_its_route_parameters_and_shape() -> None:
    found = openapi_document([wide])
    operation = found["paths"][f"{BASE}/wide"]["get"]
    assert operation["summary"] == "Datasets with many columns"
    size = next(each for each in operation["parameters"] if each["name"] == "minSize")
    assert size["schema"] == {"type": "integer", "minimum": 2, "maximum": 9, "default": 3}
    assert size["description"] == "At least so many columns."
    assert {each["name"]: each["required"] for each in operation["parameters"]}["dataset"]
    assert set(found["components"]["schemas"]["Wide"]["properties"]) == {"dataset", "size", "strict", "since", "every"}


def test_the_document_sorts_routes_by_what_they_ask() -> None:
    groups = defaultdict(set)
    for path, methods in openapi_document(ROUTES)["paths"].items():
        for operation in methods.values():
            groups[operation["tags"][0]].add(path.removeprefix(f"{BASE}/"))
    assert {"impact", "coverage", "rules", "runs/{run}/lineage"} <= groups["lineage"]
    assert {"live", "settings", "audit", "overview", "rejected/retry"} <= groups["operations"]
    assert {path.split("/")[0] for path in groups["sinks"]} == {"sinks"}


def test_the_command_takes_its_parameters_and_prints_its_answer(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.append(b"{}")
    world.parser().commit_next()
    app = typer.Typer()
    app.callback()(lambda: None)
    add_command(app, wide, lambda found, as_json, _: print_value(found, as_json, lambda: found))

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["wide", *arguments, "--data", str(world.folder), "--json"])

    assert json.loads(run("x", "--min-size", "4", "--strict", "--view", "all").output) == {
        "dataset": "x", "size": 4, "strict": True, "since": None, "every": True,
    }  # fmt: skip
    assert isinstance(run("x", "--min-size", "1").exception, WrongQuestion)
    assert "At least so many columns." in run("--help").output
    assert isinstance(wide, Question)
