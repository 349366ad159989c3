"""Generate the reference page of all commands, and the help text for an installation without the extra `server`.

`tools.reference` writes both files.
"""

import re
from collections.abc import Iterator
from enum import EnumType
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from headwater.cli.app import app
from headwater.cli.help_panels import PANELS, panel_of

_WIDTH = 100
_INSTALL = "The commands need the extra `server`: pip install 'headwater[server]'"
_HEAD = """All commands of `headwater`, with their arguments and options. [The command line](cli.md) explains how they
find a server or a data folder, and how they print answers; [Questions](questions.md) explains the answers.

Exit statuses: 0 success, 1 a negative answer, 2 wrong usage, 3 failure.
"""


def help_text() -> str:
    """Return the commands by panel as plain text."""
    group: Any = get_command(app)
    parts = ["Usage: headwater [OPTIONS] COMMAND [ARGS]...", group.help, _INSTALL]
    for panel, names in _panels(group):
        longest = max(map(len, names))
        lines = [
            fill(
                _first_sentence(group.commands[name].help), _WIDTH,
                initial_indent=f"  {name:{longest}}  ", subsequent_indent=" " * (longest + 4),
            )
            for name in names
        ]  # fmt: skip
        parts.append("\n".join([panel, *lines]))
    return "\n\n".join(parts) + "\n"


def reference() -> str:
    """Return the page with all commands, arguments and options."""
    group: Any = get_command(app)
    parts = [_HEAD]
    for panel, names in _panels(group):
        parts.append(f"## {panel}\n")
        for name in names:
            parts += _command(f"headwater {name}", group.commands[name])
    return "\n".join(parts)


def _panels(group: Any) -> Iterator[tuple[str, list[str]]]:
    names = group.list_commands(None)
    for panel in PANELS:
        yield panel, [name for name in names if panel_of(name) == panel]


def _command(name: str, command: Any) -> Iterator[str]:
    """Yield the section of a command and the sections of its subcommands."""
    yield f"### `{name}`\n\n{_paragraphs(command.help)}\n"
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    usage = " ".join([name, *(_placeholder(each) for each in arguments), *(["[OPTIONS]"] if options else [])])
    subcommands = getattr(command, "commands", {})
    yield f"```\n{usage}{' COMMAND' if subcommands else ''}\n```\n"
    rows = [(f"`{_placeholder(each)}`", each) for each in arguments] + [(_option(each), each) for each in options]
    if rows:
        yield "| argument or option | meaning |\n|---|---|"
        yield "\n".join(f"| {shown} | {_meaning(each)} |" for shown, each in rows) + "\n"
    if command.epilog:
        yield f"{command.epilog}\n"
    for each in sorted(subcommands):
        yield from _command(f"{name} {each}", subcommands[each])


def _placeholder(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    name += "..." if argument.nargs == -1 and "..." not in name else ""
    return name if argument.required else f"[{name}]"


def _option(option: Any) -> str:
    names = ", ".join(f"`{each}`" for each in option.opts)
    return names if option.is_flag else f"{names} `{_value_name(option)}`".replace("|", "\\|")


def _value_name(option: Any) -> str:
    kind = option.type_descriptor.annotation
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    choices: tuple[str, ...] = get_args(kind) if get_origin(kind) is Literal else ()
    if isinstance(kind, EnumType):
        members: Any = kind
        choices = tuple(each.value for each in members)
    return option.metavar or (f"[{'|'.join(choices)}]" if choices else _VALUES.get(kind, "TEXT"))


_VALUES = {int: "NUMBER", float: "NUMBER", Path: "PATH"}


def _meaning(parameter: Any) -> str:
    text = parameter.help or ""
    if parameter.envvar:
        text += f" Variable: `{parameter.envvar}`."
    default = parameter.default
    if not (default is None or default is False or default == () or "efault" in text or parameter.required):
        text += f" Default: `{getattr(default, 'value', default)}`."
    return text.replace("|", "\\|").replace("\n", " ")


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(text.split("\n\n", maxsplit=1)[0].split()))[0].replace("`", "")


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))
