"""Declaration of questions: a function whose signature defines parameters and answer.

HTTP routes, the OpenAPI document, commands, and tools for agents are generated from these declarations.
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

from headwater.common.errors import WrongQuestion
from headwater.questions.answer_types.common import AnswerStruct
from headwater.questions.display_names import may_contain_datasets, set_display_names
from headwater.questions.moments import WORDS, WRITTEN, Microseconds, Moment, moment_us, parse_moment

if TYPE_CHECKING:
    from headwater.auth.access import Role  # imports pydantic, which clusters provide in another version

Values = Mapping[str, str | Sequence[str]]
"""Values of a request by the HTTP names of parameters. Empty values count as missing."""

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])


class Help(NamedTuple):
    """The description of a parameter, and its bounds.

    meaning: the description. least, most: bounds of a number. longest: maximum length of a text. called: the name for
    agents and notebooks, if it differs from the Python name, because that is a keyword or unclear without its question.
    example: an example value for the help of a command.
    """

    meaning: str
    least: int = 1
    most: int | None = None
    longest: int | None = None
    called: str = ""
    example: str = ""


class Parameter(NamedTuple):
    """A parameter of a question. key: the name of the Python parameter.

    place: where a request has the value, `query` or `path`.
    """

    key: str
    type: Any
    help: Help
    default: Any = None
    required: bool = False
    place: str = "query"

    @property
    def name(self) -> str:
        """The HTTP name of the parameter, for example `asOf` for `as_of`."""
        first, *rest = self.key.rstrip("_").split("_")
        return first + "".join(word.capitalize() for word in rest)

    @property
    def notebook_name(self) -> str:
        """The name of the parameter for agents and notebooks."""
        return self.help.called or self.key

    @property
    def meaning(self) -> str:
        """The description of the parameter, including how to write a boolean or a time."""
        before, behind = "true: " if self.type is bool else "", f" {WRITTEN}" if self.is_time else ""
        behind += f" {WORDS}" if self.type is Moment else ""
        return f"{before}{self.help.meaning}{behind}"

    @property
    def is_time(self) -> bool:
        """Whether the value of the parameter is a time."""
        return self.type in (Microseconds, Moment)

    @property
    def example(self) -> str:
        """An example value for the help of a command."""
        return self.help.example or (self.choices[0] if self.choices else self.key.upper())

    @property
    def is_repeatable(self) -> bool:
        """Whether a request may repeat the parameter."""
        return bool(self.type == tuple[str, ...])

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values of the parameter. Empty if any text is allowed."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def schema(self) -> dict[str, Any]:
        """The OpenAPI 3.1 schema of the parameter."""
        found: dict[str, Any] = {"type": "integer" if self.type is int else "string"}
        if self.type is int:
            found |= {"minimum": self.help.least, "maximum": self.help.most}
        elif self.type is bool:
            found["enum"] = ["false", "true"]
        elif self.is_time:
            found |= {"examples": ["2026-03-01T12:00:00Z"]} | (
                {"format": "date-time"} if self.type is not Moment else {}
            )
        elif self.choices:
            found["enum"] = list(self.choices)
        elif self.required:
            found["minLength"] = 1
        if self.help.longest:
            found["maxLength"] = self.help.longest
        if self.default is not None and not self.is_repeatable:
            found["default"] = str(self.default).lower() if self.type is bool else self.default
        return found

    def parse(self, sent: str | Sequence[str] | None) -> Any:
        """Parse a value of the parameter. Returns the default if the value is missing.

        Raises WrongQuestion if it is not valid.
        """
        if self.is_repeatable:
            return (sent,) if isinstance(sent, str) else tuple(sent or ())
        text = sent if sent is None or isinstance(sent, str) else sent[-1]
        if not text:
            if self.required:
                raise WrongQuestion(f"{self.name}= is missing. {self._expected_form}: {self.help.meaning}")
            return self.default
        if self.is_time:
            return parse_moment(self.name, text) if self.type is Moment else moment_us(self.name, text)
        if self.type is int:
            return self._parse_number(text)
        if self.type is bool:
            if text not in ("true", "false"):
                raise WrongQuestion(f"{self.name}={text[:40]!r} is not a boolean. Write true or false.")
            return text == "true"
        if self.choices and text not in self.choices:
            raise WrongQuestion(f"{self.name}={text[:40]!r} is not a valid value. {self._expected_form}.")
        return text

    @property
    def _expected_form(self) -> str:
        if self.choices:
            return f"Write {' or '.join(filter(None, (', '.join(self.choices[:-1]), self.choices[-1])))}"
        return f"Write {self.name}={'TIME' if self.is_time else self.key.rpartition('_')[2].upper()}"

    def _parse_number(self, text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise WrongQuestion(f"{self.name}={text[:40]!r} is not a whole number. Write it like 100.")
        found = int(text)
        if not self.help.least <= found <= (self.help.most or found):
            raise WrongQuestion(f"{self.name}={found} is not between {self.help.least} and {self.help.most}.")
        return found


class Question(NamedTuple):
    """A question about lineage.

    path: path of the HTTP route. description: the text for users; its first line is the summary. called: the name of
    the command and of the tool for agents; None if the question has neither. run: answers the question from the data
    source and the parsed parameters. reads_lake: whether it reads Delta tables; only one such question runs at a time.
    """

    path: str
    description: str
    called: str | None
    parameters: tuple[Parameter, ...]
    answer: type[AnswerStruct] | None
    run: Callable[..., Any]
    reads_lake: bool = False
    method: str = "GET"
    role: "Role" = "read"

    @property
    def name(self) -> str:
        """The name of the question in the OpenAPI document."""
        return re.sub(r"/\{\w+\}", "", self.path).replace("/", "-")

    @property
    def summary(self) -> str:
        """The first line of the description, without a period."""
        return self.description.partition("\n")[0].rstrip(".")

    def ask(self, sources: Any, asked: Values, **path: str) -> Any:
        """Answer the question.

        asked: query parameters by HTTP name. path: values of the variables in the route's path. The query parameter
        `code` contains a key and is ignored here. Raises WrongQuestion for missing, unknown or invalid parameters, and
        NotKnown for unknown names.
        """
        accepted = [each.name for each in self.parameters if each.place == "query"]
        for name in asked:
            if name not in accepted and name != "code":
                takes = f"It takes {', '.join(accepted)}." if accepted else "It takes no parameters."
                raise WrongQuestion(f"{self.name} does not take the parameter {name[:40]!r}. {takes}")
        given = {**asked, **path}
        found = self.run(sources, {each.key: each.parse(given.get(each.name)) for each in self.parameters})
        if isinstance(found, AnswerStruct) and may_contain_datasets(type(found)):
            set_display_names(
                found,
                sources.open_views.query_current_index(
                    lambda live, rules: live.display_names(rules.names).display_name
                ),
            )
        return found


def question(
    path: str, *, called: str | None = "", answer: type[AnswerStruct] | None = None, reads_lake: bool = False,
    method: str = "GET", role: "Role" = "read",
) -> Callable[[_F], Question]:  # fmt: skip
    """Declare a function as a question.

    The first parameter is the data source. The other parameters are keyword-only and either `Annotated` with `Help`, or
    of a type that a `parameter_group` function returns. The docstring is the description, and the return type is the
    answer, unless `answer` is set. called: the name of the command and of the tool for agents. The default is the path;
    None declares a question for HTTP only.
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
    """Return the questions that a module declares, in order. module: the members of the module, from `vars`."""
    return tuple(each for each in module.values() if isinstance(each, Question))


_COMPOSED: dict[Any, tuple[Callable[..., Any], tuple[Parameter, ...]]] = {}


def parameter_group(make: _F) -> _F:
    """Register a function or named tuple whose parameters questions can include as a group."""
    keys = inspect.signature(make).parameters
    _COMPOSED[_type_made_by(make)] = make, tuple(_read_parameters(make, key, "") for key in keys)
    return make


def call_with_notebook_values(make: Callable[..., _T], values: Mapping[str, Any]) -> _T:
    """Call a `parameter_group` function with values from a notebook, by their notebook names.

    Raises WrongQuestion as a question does. None and empty texts count as missing.
    """
    accepted = {each.notebook_name: each for each in _COMPOSED[_type_made_by(make)][1]}
    for name in values.keys() - accepted.keys():
        raise WrongQuestion(f"There is no parameter {name[:40]!r}. The parameters are {', '.join(accepted)}.")
    return make(**{each.key: each.parse(_to_query_text(values.get(name))) for name, each in accepted.items()})


def _type_made_by(make: Callable[..., Any]) -> Any:
    return make if isinstance(make, type) else get_type_hints(make)["return"]


def _to_query_text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return value.isoformat()
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _read_parameters(function: Callable[..., Any], key: str, path: str) -> Parameter:
    hint = get_type_hints(function, include_extras=True)[key]
    default = inspect.signature(function).parameters[key].default
    place = "path" if f"{{{key}}}" in path else "query"
    return _parameter_from_hint(hint, key, default)._replace(place=place)


def parse_as(hint: Any, name: str, value: str | int | None) -> Any:
    """Parse a value as a parameter of a declared type. Returns None if it is missing.

    Raises WrongQuestion if it is not valid.
    """
    return _parameter_from_hint(hint, name, None).parse(_to_query_text(value))


def _parameter_from_hint(hint: Any, key: str, default: Any) -> Parameter:
    if get_origin(hint) is not Annotated:
        hint = next((each for each in get_args(hint) if get_origin(each) is Annotated), None)
    if hint is None:
        raise TypeError(
            f"The parameter {key!r} is neither `Annotated` with `Help` nor of a type of a `parameter_group` function."
        )
    kind, help_text = get_args(hint)
    if NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    required = default is inspect.Parameter.empty
    return Parameter(key, kind, help_text, None if required else default, required)
