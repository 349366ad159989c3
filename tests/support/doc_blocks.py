"""The code blocks of the documentation: what each contains, how the tests treat it, and whether its syntax is valid.

CONTRIBUTING.md (Documentation) describes the marks.
"""

import ast
import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import sqlglot
import yaml

from headwater.common.errors import WrongSetting
from headwater.operations.settings import load_settings
from headwater.sinks.interface.sinks_file import parse_sinks
from tests.support.paths import ROOT

COMMANDS = {"sh", "python"}
"""Languages of the blocks that a reader runs."""

_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<comment>run by \S+|diagram) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$"
    r"(?:\n+(?P=indent)\*Not run by the tests: (?P<reason>[^\n]+)\.\*$)?",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"# ([\w./-]+\.(?:yaml|yml|toml))\n")


class Block(NamedTuple):
    """A code block of a page.

    reason: why the tests do not run it. comment: the HTML comment before it, `run by FILE` or `diagram`.
    """

    page: Path
    line: int
    language: str
    text: str
    reason: str | None
    comment: str | None

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def path(self) -> str | None:
        """The path of a file whose content the block shows: the comment in its first line."""
        found = _FILE.match(self.text)
        return found[1] if found else None

    @property
    def is_marked(self) -> bool:
        return self.reason is not None or self.comment is not None

    @property
    def is_run(self) -> bool:
        """Whether the tests run the block or use the file that it shows."""
        return not self.is_marked and (self.language in COMMANDS or self.path is not None)


def pages_with_commands() -> list[Path]:
    """Return the README, the tutorial and the how-to guides, in the order in which the tests run them."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *sorted(docs.glob("tutorial/*.md")), *sorted(docs.glob("how-to/**/*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Return the code blocks of a page, without their indentation."""
    text = page.read_text("utf-8")
    blocks = [
        Block(
            page, text.count("\n", 0, found.start("language")) + 1, found["language"],
            re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE), found["reason"], found["comment"],
        )
        for found in _BLOCK.finditer(text)
    ]  # fmt: skip
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(blocks), f"{page} has a block without an end"
    return blocks


def unmarked(blocks: list[Block]) -> Iterator[str]:
    """Yield the blocks that the tests neither run nor compare, and that have no mark. blocks: all blocks of a page."""
    is_output_possible = False
    for block in blocks:
        is_output = block.language == "text" and is_output_possible
        if not (block.is_run or block.is_marked or is_output):
            yield f"{block.where}: {block.language or 'a block without a language'}"
        test = block.comment and block.comment.removeprefix("run by ")
        if test not in {None, "diagram"} and not (ROOT / str(test)).exists():
            yield f"{block.where}: {test} does not exist"
        is_output_possible = is_output or (block.is_run and block.language in COMMANDS)


def syntax_error(block: Block) -> str | None:
    """Return why the content of a block is not valid in its language, or None."""
    try:
        _PARSERS[block.language](block.text)
    except (SyntaxError, ValueError, WrongSetting, yaml.YAMLError, ElementTree.ParseError, sqlglot.ParseError) as error:
        return f"{block.where}: {error}"
    return None


def _parse_shell(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    if done.stderr:
        raise ValueError(done.stderr)


def _parse_yaml(text: str) -> None:
    if "sinks" in (yaml.safe_load(text) or {}):
        parse_sinks(text, "sinks.yml")


def _parse_toml(text: str) -> None:
    load_settings(tomllib.loads(text), environment={})


def _parse_properties(text: str) -> None:
    if wrong := [line for line in text.splitlines() if not re.fullmatch(r"spark\.[\w.]+ +\S.*", line)]:
        raise ValueError(f"not properties of Spark: {wrong}")


def _parse_bicep(text: str) -> None:
    import tree_sitter_bicep
    from tree_sitter import Language, Parser

    template = re.sub(r"(?m)^param (\w+) = ", r"var \1 = ", text)  # the grammar is that of templates
    if Parser(Language(tree_sitter_bicep.language())).parse(template.encode()).root_node.has_error:
        raise ValueError("not valid Bicep")


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "sh": _parse_shell,
    "python": ast.parse,
    "sql": sqlglot.parse,
    "yaml": _parse_yaml,
    "json": json.loads,
    "toml": _parse_toml,
    "properties": _parse_properties,
    "xml": ElementTree.fromstring,
    "bicep": _parse_bicep,
    "text": str,
}
