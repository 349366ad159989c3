"""The registry of questions: built-in questions, and questions that installed packages add."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from headwater.common.registry import Registry
from headwater.questions.answer_types.common import AnswerStruct
from headwater.questions.declaring import Question

_DEFINITIONS = "headwater.questions.definitions"
_PATH = re.compile(r"[a-z0-9-]+(/([a-z0-9-]+|\{[a-z_]+\}))*")


def _check_question(_: str, found: Any) -> Question:
    """Raise ValueError if an object is not a question that HTTP, commands and agents can serve."""
    if not isinstance(found, Question):
        raise ValueError(f"it is not a question. Declare a function with `@{Question.__module__}.question`.")
    if not _PATH.fullmatch(found.path):
        raise ValueError(f"its path {found.path!r} is not like `words` or `words/{{name}}`. Correct it.")
    if not (isinstance(found.answer, type) and issubclass(found.answer, AnswerStruct)):
        raise ValueError(f"its answer does not inherit from `{AnswerStruct.__module__}.AnswerStruct`. Declare it so.")
    return found


QUESTIONS: Registry[Question] = Registry(
    "question",
    "headwater.questions",
    {
        "impact": f"{_DEFINITIONS}.lineage:impact",
        "upstream": f"{_DEFINITIONS}.lineage:upstream",
        "path": f"{_DEFINITIONS}.lineage:path",
        "edge": f"{_DEFINITIONS}.lineage:edge",
        "surface": f"{_DEFINITIONS}.lineage:surface",
        "unused": f"{_DEFINITIONS}.lineage:unused",
        "coverage": f"{_DEFINITIONS}.lineage:coverage",
        "diff": f"{_DEFINITIONS}.lineage:diff",
        "changes": f"{_DEFINITIONS}.lineage:changes",
        "timeline": f"{_DEFINITIONS}.lineage:timeline",
        "datasets": f"{_DEFINITIONS}.lists:datasets",
        "listed_jobs": f"{_DEFINITIONS}.lists:listed_jobs",
        "listed_runs": f"{_DEFINITIONS}.lists:listed_runs",
        "facets": f"{_DEFINITIONS}.lists:facets",
        "search": f"{_DEFINITIONS}.lists:search",
        "run": f"{_DEFINITIONS}.runs:run",
        "run_details": f"{_DEFINITIONS}.runs:run_details",
        "hierarchy": f"{_DEFINITIONS}.runs:hierarchy",
        "incidents": f"{_DEFINITIONS}.incident_lists:incidents",
        "incident": f"{_DEFINITIONS}.incident_lists:incident",
        "volume": f"{_DEFINITIONS}.dataset_health:volume",
        "health": f"{_DEFINITIONS}.dataset_health:health",
        "health_shown": f"{_DEFINITIONS}.dataset_health:health_shown",
        "readers": f"{_DEFINITIONS}.dataset_health:readers",
        "reported": f"{_DEFINITIONS}.reports:reported",
        "unreported": f"{_DEFINITIONS}.reports:unreported",
        "contract": f"{_DEFINITIONS}.contracts:contract",
        "names": f"{_DEFINITIONS}.setup:names",
        "rules": f"{_DEFINITIONS}.setup:rules",
        "connect": f"{_DEFINITIONS}.setup:connect",
        "graph": f"{_DEFINITIONS}.graphs:graph",
        "around": f"{_DEFINITIONS}.graphs:around",
        "jobs": f"{_DEFINITIONS}.graphs:jobs",
    },
    _check_question,
)
"""The order of questions in this registry is also their order in the OpenAPI document and in the help of commands."""


def collision_check(questions: Sequence[Question], shapes: Sequence[Any] = ()) -> Callable[[Question], str | None]:
    """Return a function that rejects a question with the path, command or schema name of another question.

    It returns the reason, or None. questions: the questions of Headwater. shapes: other types in the OpenAPI document.
    The function also compares a question with the questions that it accepted before.
    """
    accepted, used = [*questions], [*shapes, *(each.answer for each in questions if each.answer)]
    names = _schema_names(used)

    def find_collision(question: Question) -> str | None:
        for each in accepted:
            if _method_and_path(each) == _method_and_path(question):
                return f"the path {question.path!r} belongs to another question. Choose another path."
            if question.called and each.called == question.called:
                return (
                    f"the command {question.called!r} belongs to another question. Choose another name with `called`."
                )
        nonlocal names
        more = _schema_names([*used, question.answer])
        if not names <= more or any("." in name for name in more - names):  # msgspec then writes the modules of both
            return "a class of its answer has the name of another schema. Rename the class."
        accepted.append(question)
        used.append(question.answer)
        names = more
        return None

    return find_collision


def _schema_names(shapes: Sequence[Any]) -> set[str]:
    return {*msgspec.json.schema_components(shapes)[1]}


def _method_and_path(question: Question) -> tuple[str, str]:
    return question.method, re.sub(r"\{\w+\}", "{}", question.path)
