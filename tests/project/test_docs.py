"""The documentation: its site, its links, and the pages that are generated from code."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from headwater.cli.app import app
from tests.support.doc_blocks import COMMANDS, blocks_of, pages_with_commands, syntax_error, unmarked
from tests.support.doc_commands import Reader, differences
from tests.support.paths import ROOT
from tools import reference
from tools.docs_site import broken_links

PAGES = pages_with_commands()
NOT_COMMANDS = {"headwater COMMAND --help", "headwater …", "headwater lake"}
"""Forms of commands, and the name of a connection."""


def test_broken_links_and_loads_from_elsewhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#part">b</a><a href="https://example.org">e</a>'
    )
    (tmp_path / "b.html").write_text('<h2 id="part">B</h2><img src="a.html"><a href="#part">p</a>')
    assert broken_links(tmp_path) == []
    (tmp_path / "b.html").write_text(
        '<h2 id="other">B</h2><a href="c.html">c</a><a href="#part">p</a><script src="https://cdn.example/x.js"></script>'
    )
    assert broken_links(tmp_path) == [
        "a.html: b.html#part has no such anchor",
        "b.html: c.html does not exist",
        "b.html: #part has no such anchor",
        "b.html: loads https://cdn.example/x.js from another host",
    ]


def test_former_addresses_lead_to_pages() -> None:
    for line in (ROOT / "docs" / "redirects.txt").read_text("utf-8").splitlines():
        old, new = line.split(" ")
        assert not (ROOT / "docs" / f"{old}.md").exists(), f"{old} is a page and must not redirect to {new}"
        assert (ROOT / "docs" / f"{new}.md").exists(), f"{old} redirects to {new}, which does not exist"


def test_generated_pages_are_those_that_the_code_gives() -> None:
    assert reference.stale() == [], "run `python -m tools.reference`"


def test_commands_in_the_pages_exist_with_their_options() -> None:
    root = typer.main.get_command(app)
    pages = [ROOT / "README.md", *(path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts)]
    found = [(path.name, words) for path in pages for words in _commands(path.read_text("utf-8"))]
    assert len(found) > 300
    assert [(page, *problem) for page, words in found if (problem := _unknown(root, words))] == []


def _commands(page: str) -> Iterator[list[str]]:
    """Yield the words of each Headwater command in the blocks, lists and sentences of a page."""
    joined = page.replace("\\\n", " ")
    in_lines = re.findall(r"^ *(?:[A-Z_]+=\S+ )*(?:- run: |run: )?(headwater [^\n]+)", joined, re.MULTILINE)
    in_sentences = re.findall(r"(?<!`)`(headwater [^`\n]+)`", joined)
    for command in (*in_lines, *in_sentences):
        if command not in NOT_COMMANDS and "[" not in command:  # the text is a command, not the form of one
            # only the part before a pipe is checked
            yield shlex.split(command.replace("…", "x").partition(" | ")[0], comments=True)


def _unknown(command: Any, words: list[str]) -> list[str] | None:
    """Return the command with the parts that it does not know, if any."""
    at = 1
    while isinstance(command, TyperGroup) and at < len(words):
        names = command.list_commands(typer.Context(command))
        if words[at] in names:
            command, at = command.get_command(typer.Context(command), words[at]), at + 1
        elif "of" in names and not words[at].startswith("-"):
            command = command.get_command(typer.Context(command), "of")
        elif at == 1 and not words[at].startswith("-"):
            return words[:2]
        else:
            break
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help", "--version"}
    unknown = [word for word in words[at:] if word.startswith("--") and word.partition("=")[0] not in known]
    return [*words[:at], *unknown] if unknown else None


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Provide a reader for all pages, with the demo of the tutorial."""
    with Reader(tmp_path_factory.mktemp("reader")) as found:
        yield found


def test_each_block_is_run_or_compared_or_marked_with_the_reason() -> None:
    assert [each for page in PAGES for each in unmarked(blocks_of(page))] == []


def test_the_syntax_of_all_blocks_is_valid() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page)]
    assert [error for block in blocks if (error := syntax_error(block))] == []


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_the_commands_of_a_page_run_and_print_what_it_shows(reader: Reader, page: Path) -> None:
    printed = ""
    reader.open_page(blocks_of(page))
    for block in blocks_of(page):
        if block.is_run and block.language in COMMANDS:
            printed = reader.run(block)
        elif block.language == "text" and not block.is_marked:
            assert not (found := differences(block.text, printed)), f"{block.where} should be:\n{found}"
