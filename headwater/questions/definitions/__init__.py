"""The built-in questions by their Python names: `definitions.impact` is the question `impact` of the registry."""

from headwater.questions import parameter_groups as _parameter_groups  # noqa: F401 - registers how groups of parameters are read
from headwater.questions.declaring import Question
from headwater.questions.definitions.sources import QuestionSources
from headwater.questions.registry import QUESTIONS

__all__ = ["QuestionSources"]


def __getattr__(name: str) -> Question:
    """Import a built-in question."""
    if name in QUESTIONS.built_in and (found := QUESTIONS.get(name)):
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
