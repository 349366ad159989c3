"""`--help`: groups of commands, choices of options, the shared option for a server's address, and generated texts."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from headwater.cli.app import app
from headwater.cli.help_panels import PANELS
from tests.support.commands import commanded
from tests.support.paths import ROOT
from tools import command_reference

ROOT_GROUP: Any = get_command(app)
WITHOUT_EXTRAS = """
import sys
for name in ("typer", "rich", "pydantic", "starlette", "deltalake"):
    sys.modules[name] = None
from headwater.__main__ import main
main()
"""


def without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_help_and_version_work_without_extras() -> None:
    shown = without_extras("--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == command_reference.help_text()
    assert "pip install 'headwater[server]'" in shown.stdout
    assert [line for line in shown.stdout.splitlines() if line in PANELS] == [*PANELS]
    assert without_extras("--version").stdout == commanded("--version").stdout
    other = without_extras("audit")
    assert (other.returncode, "pip install 'headwater[server]'" in other.stderr) == (3, True)


def test_each_command_has_a_place_in_the_help_and_the_first_ones_come_first() -> None:
    placed = [name for names in PANELS.values() for name in names]
    assert len(placed) == len({*placed})
    assert {*ROOT_GROUP.list_commands(None)} <= {*placed}
    shown = commanded("--help").stdout
    assert [title for title in re.findall(r"─ (\w[\w ]*?) ─", shown) if title != "Options"] == [*PANELS]
    assert shown.index(" up ") < shown.index(" connect ") < shown.index(" doctor ") < shown.index(" impact ")


def parameters(command: Any = ROOT_GROUP, name: str = "headwater") -> Iterator[tuple[str, Any]]:
    for each in command.params:
        yield name, each
    for word, each in getattr(command, "commands", {}).items():
        yield from parameters(each, f"{name} {word}")


def test_a_running_server_has_the_same_option_in_every_command() -> None:
    for command, each in parameters():
        if re.search(r"URL of a running Headwater|Headwater at this URL|producers reach Headwater", each.help or ""):
            assert each.opts == ["--server"], command
    addresses = {(command, name) for command, each in parameters() for name in each.opts if name in ("--to", "--url")}
    deprecated = {(f"headwater {name}", "--to") for name in ("send", "ingest", "rejected", "declare")}
    others = {
        ("headwater replay", "--to"),
        ("headwater diff", "--to"),
        ("headwater changes", "--to"),
        ("headwater readers", "--to"),
    }
    assert addresses == deprecated | others | {("headwater sinks reset", "--to"), ("headwater connect", "--url")}


def test_options_list_their_choices() -> None:
    shown = {(command, option): each for command, each in parameters() for option in each.opts}
    assert shown["headwater surface", "--view"].metavar == "[current|newest|all]"
    assert shown["headwater up", "--station"].metavar == "[receiver|parser|api|sinks]"
    assert "One of " in shown["headwater facets", "entity"].help
