"""How a question is declared: as a function, whose signature says what it is asked with and what it answers.

Routes of HTTP, the OpenAPI document, commands, and tools for agents are made of these declarations.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from headwater.errors import WrongQuestion
from headwater.questions.answers.answer_parts import AnswerStruct
from headwater.questions.displayed import display_datasets, names_datasets
from headwater.questions.moments import WORDS, WRITTEN, Microseconds, Moment, moment_us, read_moment

if TYPE_CHECKING:
    from headwater.access import Role  # imports pydantic, which a cluster has in a version of its own

Values = Mapping[str, str | Sequence[str]]
"""What was asked, by the names of HTTP; what is empty is left out."""

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])


class Help(NamedTuple):
    """What a parameter means, and its bounds: of a number, or `longest` of a text.

    called: by agents and in notebooks, where HTTP's name is a word of Python or says nothing without its question;
    example: what a command's help writes for it.
    """

    meaning: str
    least: int = 1
    most: int | None = None
    longest: int | None = None
    called: str = ""
    example: str = ""


class Parameter(NamedTuple):
    """A parameter: its name in Python, its type, what it is where it is left out; place: query or path."""

    key: str
    type: Any
    help: Help
    default: Any = None
    required: bool = False
    place: str = "query"

    @property
    def name(self) -> str:
        """What HTTP calls it: `as_of` is `asOf`."""
        first, *rest = self.key.rstrip("_").split("_")
        return first + "".join(word.capitalize() for word in rest)

    @property
    def called(self) -> str:
        """What agents and notebooks call it."""
        return self.help.called or self.key

    @property
    def meaning(self) -> str:
        """What it means, and how a truth or a time is written."""
        before, behind = "true: " if self.type is bool else "", f" {WRITTEN}" if self.is_time else ""
        behind += f" {WORDS}" if self.type is Moment else ""
        return f"{before}{self.help.meaning}{behind}"

    @property
    def is_time(self) -> bool:
        """Tell whether a moment is asked for."""
        return self.type in (Microseconds, Moment)

    @property
    def example(self) -> str:
        """One that a command's help writes."""
        return self.help.example or (self.words[0] if self.words else self.key.upper())

    @property
    def several(self) -> bool:
        """Tell whether it may come several times."""
        return bool(self.type == tuple[str, ...])

    @property
    def words(self) -> tuple[str, ...]:
        """The words that may be said, where not every text may be."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of what is sent, as OpenAPI 3.1 has it."""
        found: dict[str, Any] = {"type": "integer" if self.type is int else "string"}
        if self.type is int:
            found |= {"minimum": self.help.least, "maximum": self.help.most}
        elif self.type is bool:
            found["enum"] = ["false", "true"]
        elif self.is_time:
            found |= {"examples": ["2026-03-01T12:00:00Z"]} | (
                {"format": "date-time"} if self.type is not Moment else {}
            )
        elif self.words:
            found["enum"] = list(self.words)
        elif self.required:
            found["minLength"] = 1
        if self.help.longest:
            found["maxLength"] = self.help.longest
        if self.default is not None and not self.several:
            found["default"] = str(self.default).lower() if self.type is bool else self.default
        return found

    def read(self, sent: str | Sequence[str] | None) -> Any:
        """Return the value of what was sent; raises WrongQuestion where it is out of form."""
        if self.several:
            return (sent,) if isinstance(sent, str) else tuple(sent or ())
        text = sent if sent is None or isinstance(sent, str) else sent[-1]
        if not text:
            if self.required:
                raise WrongQuestion(f"{self.name}= is missing. {self._form}: {self.help.meaning}")
            return self.default
        if self.is_time:
            return read_moment(self.name, text) if self.type is Moment else moment_us(self.name, text)
        if self.type is int:
            return self._number(text)
        if self.type is bool:
            if text not in ("true", "false"):
                raise WrongQuestion(f"{self.name}={text[:40]!r} is neither true nor false.")
            return text == "true"
        if self.words and text not in self.words:
            raise WrongQuestion(f"{self.name}={text[:40]!r} is not known. {self._form}.")
        return text

    @property
    def _form(self) -> str:
        if self.words:
            return f"Write {' or '.join(filter(None, (', '.join(self.words[:-1]), self.words[-1])))}"
        return f"Write {self.name}={'TIME' if self.is_time else self.key.rpartition('_')[2].upper()}"

    def _number(self, text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise WrongQuestion(f"{self.name}={text[:40]!r} is no number. Write it like 100.")
        found = int(text)
        if not self.help.least <= found <= (self.help.most or found):
            raise WrongQuestion(f"{self.name}={found} is not between {self.help.least} and {self.help.most}.")
        return found


class Question(NamedTuple):
    """A question; path: of its route; reads_lake: one at a time, because it reads Delta tables.

    does: what it is for, the first line by itself; called: as a command and as a tool, None where it is neither.
    """

    path: str
    does: str
    called: str | None
    parameters: tuple[Parameter, ...]
    answer: type[AnswerStruct] | None
    run: Callable[..., Any]
    reads_lake: bool = False
    method: str = "GET"
    role: "Role" = "read"

    @property
    def name(self) -> str:
        """What the OpenAPI document calls it."""
        return re.sub(r"/\{\w+\}", "", self.path).replace("/", "-")

    @property
    def summary(self) -> str:
        """What it is for, in one line."""
        return self.does.partition("\n")[0].rstrip(".")

    def ask(self, sources: Any, asked: Values, **path: str) -> Any:
        """Answer. Raises WrongQuestion for parameters that are missing, unknown or out of form, NotKnown for names.

        path: the variable part of the route's address. Of what is asked `code` is the key's.
        """
        taken = [each.name for each in self.parameters if each.place == "query"]
        for name in asked:
            if name not in taken and name != "code":
                takes = f"It takes {', '.join(taken)}." if taken else "It takes none."
                raise WrongQuestion(f"{self.name} takes no parameter {name[:40]!r}. {takes}")
        given = {**asked, **path}
        found = self.run(sources, {each.key: each.read(given.get(each.name)) for each in self.parameters})
        if isinstance(found, AnswerStruct) and names_datasets(type(found)):
            display_datasets(found, sources.open_views.now(lambda live, rules: live.display_names(rules.names).of))
        return found


def question(
    path: str, *, called: str | None = "", answer: type[AnswerStruct] | None = None, reads_lake: bool = False,
    method: str = "GET", role: "Role" = "read",
) -> Callable[[_F], Question]:  # fmt: skip
    """Declare a function as a question.

    Its first parameter is what it is asked of; the others, by keyword, are `Annotated` with `Help`, or of a type that
    `composed` makes of parameters. Its docstring says what it is for, its return type is the answer's shape, unless
    named. called: as a command and as a tool for agents; its path unless named, None where it is for HTTP alone.
    """

    def declare(function: _F) -> Question:
        hints = get_type_hints(function, include_extras=True)
        keys = list(inspect.signature(function).parameters)[1:]
        whole = {key: _COMPOSED[hints[key]] for key in keys if hints[key] in _COMPOSED}
        own = {key: _read_parameters(function, key, path) for key in keys if key not in whole}

        def run(sources: Any, values: dict[str, Any]) -> Any:
            made = {
                key: make(**{part.key: values.pop(part.key) for part in parts}) for key, (make, parts) in whole.items()
            }
            return function(sources, **values, **made)

        parameters = [part for key in keys for part in (whole[key][1] if key in whole else (own[key],))]
        shape = answer or (None if hints["return"] is NoneType else hints["return"])
        does, name = inspect.getdoc(function) or "", path if called == "" else called
        return Question(path, does, name, tuple(parameters), shape, run, reads_lake, method, role)

    return declare


def questions_in(module: Mapping[str, Any]) -> tuple[Question, ...]:
    """Return the questions that a module declares, in its order. module: its names, as `vars` gives them."""
    return tuple(each for each in module.values() if isinstance(each, Question))


_COMPOSED: dict[Any, tuple[Callable[..., Any], tuple[Parameter, ...]]] = {}


def composed(make: _F) -> _F:
    """Let questions take what a function returns, or a named tuple, by its parameters."""
    keys = inspect.signature(make).parameters
    _COMPOSED[_made_by(make)] = make, tuple(_read_parameters(make, key, "") for key in keys)
    return make


def read_given(make: Callable[..., _T], given: Mapping[str, Any]) -> _T:
    """Return what a `composed` function makes of values as a notebook has them, by what they are called there.

    Raises WrongQuestion as a question does; None and an empty text count as left out.
    """
    taken = {each.called: each for each in _COMPOSED[_made_by(make)][1]}
    for name in given.keys() - taken.keys():
        raise WrongQuestion(f"There is no parameter {name[:40]!r}. Write some of {', '.join(taken)}.")
    return make(**{each.key: each.read(_as_sent(given.get(name))) for name, each in taken.items()})


def _made_by(make: Callable[..., Any]) -> Any:
    return make if isinstance(make, type) else get_type_hints(make)["return"]


def _as_sent(value: Any) -> str | None:
    if isinstance(value, datetime):
        return value.isoformat()
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _read_parameters(function: Callable[..., Any], key: str, path: str) -> Parameter:
    hint = get_type_hints(function, include_extras=True)[key]
    default = inspect.signature(function).parameters[key].default
    place = "path" if f"{{{key}}}" in path else "query"
    return _parameter(hint, key, default)._replace(place=place)


def read_as(declared: Any, name: str, value: str | int | None) -> Any:
    """Return a value as a parameter of a declared type is read, None where it is left out; raises WrongQuestion."""
    return _parameter(declared, name, None).read(_as_sent(value))


def _parameter(hint: Any, key: str, default: Any) -> Parameter:
    if get_origin(hint) is not Annotated:
        hint = next(each for each in get_args(hint) if get_origin(each) is Annotated)
    kind, said = get_args(hint)
    if NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    required = default is inspect.Parameter.empty
    return Parameter(key, kind, said, None if required else default, required)
