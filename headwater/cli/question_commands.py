"""Generate commands from declared questions: options, help texts and examples."""

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from typer.main import get_group

from headwater.api.routes import installed_routes
from headwater.cli.answer_source import open_answer_source, print_answer
from headwater.cli.base_app import COMPLETE, GroupedCommands
from headwater.cli.errors import warn
from headwater.cli.options import (
    Data,
    End,
    Json,
    Key,
    Server,
    add_table_options,
    choices_placeholder,
    example_text,
    signature_parameter,
)
from headwater.cli.printing import AnswerPrinter, any_answer_printer
from headwater.questions.declaring import Parameter, Question

_PATH_ENDS = ("from_namespace", "from_dataset", "from_column", "to_namespace", "to_dataset", "to_column")


def add_command(
    app: typer.Typer, question: Question, shown: AnswerPrinter | None = None, *,
    extra_help: str = "", arguments: Sequence[str] = (), options: Sequence[str] = (),
    joined_parameters: Sequence[str] = (),
) -> None:  # fmt: skip
    """Add a command for a question.

    shown: prints the answer; None prints any shape. extra_help: text that `--help` adds to the description of the
    question.
    arguments: parameters to pass by position. Required parameters are positional, too, unless they are in `options`.
    joined_parameters: parameters that may consist of several words. The ends of a path are two positional arguments,
    `DATASET#COLUMN`.
    """
    printed = shown or any_answer_printer(str(question.called).capitalize())
    asked = [each for each in question.parameters if each.key not in _PATH_ENDS]
    ends = ("start", "end") if len(asked) < len(question.parameters) else ()

    def run(**given: Any) -> None:
        asked_of = given.pop("server"), given.pop("key"), given.pop("data")
        as_json = given.pop("as_json")
        path = {each.key: given.pop(each.key) for each in asked if each.place == "path"}
        sent = _path_ends(*(given.pop(end) for end in ends)) if ends else {}
        given |= {key: " ".join(given[key]) for key in joined_parameters}
        sent |= {each.name: _query_text(given[each.key]) for each in asked if _is_given(given.get(each.key))}
        with open_answer_source(*asked_of) as source:
            found = source.ask(question, sent, **path)
            print_answer(source, question, found, lambda found: printed(found, as_json, given))

    taken = {end: signature_parameter(end, End) for end in ends}
    ends_shown = ("bronze/customers#email", "silver/customers#email") if ends else ()
    order = sorted(asked, key=lambda each: (not each.required, each.key not in arguments))

    def as_argument(each: Parameter) -> bool:
        return each.key in arguments or (each.required and each.key not in options)

    taken |= {
        each.key: _command_parameter(each, as_argument=as_argument(each), joined=joined_parameters) for each in order
    }
    taken |= {key: signature_parameter(key, *each) for key, each in _COMMON_OPTIONS.items()}
    run.__annotations__ = {key: each.annotation for key, each in taken.items()}
    run.__signature__ = inspect.Signature([*taken.values()])  # type: ignore[attr-defined]
    run.__doc__ = f"{question.description} {extra_help}".strip()
    words = [
        "headwater",
        app.info.name,
        question.called,
        *ends_shown,
        *(each.example for each in order if as_argument(each)),
    ]
    app.command(
        question.called,
        epilog=example_text(*filter(None, words)),
    )(run)


_COMMON_OPTIONS: Mapping[str, tuple[Any, Any]] = {
    "server": (Server, None), "key": (Key, None), "data": (Data, None), "as_json": (Json, False),
}  # fmt: skip


def add_remaining_commands(app: typer.Typer, questions: Sequence[Question]) -> None:
    """Add a generated command for each question that has no command yet."""
    groups = [app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)]
    commands = [each for group in groups for each in group.registered_commands]
    known = {group.name for group in app.registered_groups}
    known |= {each.name or getattr(each.callback, "__name__", "") for each in commands}
    for question in questions:
        if question.called and question.called not in known:
            add_command(app, question)


class AllCommands(GroupedCommands):
    """The built-in commands, and the commands of questions that installed packages add.

    The installed packages are imported only for help, completion and commands that are not built in.
    """

    _has_installed = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, None if it is unknown."""
        if cmd_name not in self.commands:
            self._add_installed()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands in the order of `--help`."""
        self._add_installed()
        return super().list_commands(ctx)

    def _add_installed(self) -> None:
        if self._has_installed:
            return
        self._has_installed = True
        found, group = installed_routes(), typer.Typer(cls=GroupedCommands, rich_markup_mode="markdown")
        group.callback()(lambda: None)
        problems = [*found.problems]
        for name, each in found.parts.items():
            if each.called in self.commands:
                problems.append(f"The question {name!r} has no command, because {each.called!r} is a built-in command.")
            elif each.called:
                add_command(group, each)
        if COMPLETE not in os.environ:
            for problem in problems:
                warn(problem)
        add_table_options(group)
        self.commands = {**get_group(group).commands, **self.commands}


def parameter_option(question: Question, key: str) -> Any:
    """Return the option for one parameter of a question, for a hand-written command."""
    return _typer_info(next(each for each in question.parameters if each.key == key), as_argument=False)


def _command_parameter(each: Parameter, *, as_argument: bool, joined: Sequence[str]) -> inspect.Parameter:
    plain = int if each.type is int else bool if each.type is bool else str
    kind: Any = list[str] if each.is_repeatable or each.key in joined else plain
    if not each.required and plain is not bool:
        kind = kind | None
    default = inspect.Parameter.empty if each.required else False if plain is bool else None
    return signature_parameter(each.key, Annotated[kind, _typer_info(each, as_argument=as_argument)], default)


def _typer_info(each: Parameter, *, as_argument: bool) -> Any:
    help_text = each.help.meaning[0].upper() + each.help.meaning[1:] if each.type is bool else each.help.meaning
    words = (lambda: list(each.choices)) if each.choices else None
    if as_argument:
        help_text += f" One of {', '.join(each.choices)}." if each.choices else ""
        return typer.Argument(help=help_text, autocompletion=words)
    help_text += (
        f" Default {each.default}." if each.default and each.type is not bool and not each.is_repeatable else ""
    )
    name = f"--{each.key.rstrip('_').replace('_', '-')}"
    metavar = "TIME" if each.is_time else choices_placeholder(each.choices) if each.choices else None
    return typer.Option(name, help=help_text, metavar=metavar, autocompletion=words)


def _is_given(value: Any) -> bool:
    return not (value is None or value is False or value == [])


def _query_text(value: Any) -> Any:
    return "true" if value is True else value if isinstance(value, list) else str(value)


def _path_ends(start: str, end: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for side, text in (("from", start), ("to", end)):
        dataset, mark, column = text.rpartition("#")
        found[f"{side}Dataset"] = dataset if mark else text
        if mark:
            found[f"{side}Column"] = column
    return found
