"""`sinks.yml`: errors name the file, line, sink and valid options. A broken file leaves the last valid
sinks in force.
"""

from pathlib import Path

import pytest

from headwater.common.errors import WrongSetting
from headwater.sinks.interface.sinks_file import LocalSinksFile, SinksFile, parse_sinks
from tests.support.data.sink_world import sink
from tests.support.paths import ROOT

GOOD = "version: 1\nsinks:\n  out: {type: openlineage, url: 'https://one.example.org'}\n"
LINE = "  out: {type: openlineage, url: 'https://one.example.org', "


def wrong(text: str) -> str:
    with pytest.raises(WrongSetting) as caught:
        parse_sinks(text, "sinks.yml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("sinks", "line", "words"),
    [
        ("  Out: {type: file}", 3, ["'Out'", "lower-case"]),
        ("  out: {url: x}", 3, ["sink", "type is missing"]),
        ("  out: {type: marqez}", 3, ["'marqez'", "known types: openlineage, marquez"]),
        ("  out: {type: file}", 3, ["folder is missing"]),
        ("  out:\n    type: file\n    foldr: x", 5, ["unknown key 'foldr'", "folder"]),
        ("  out:\n    type: file\n    folder: x\n    every: soon", 6, ["every", "'soon' is not a duration"]),
        ("  out:\n    type: file\n    folder: x\n    only:\n      states: [DONE]", 7, ["only.states.0", "COMPLETE"]),
        (LINE + "key: abc123secret}", 3, ["key", "{env: VARIABLE}"]),
        (LINE + "key: {env: HEADWATER_KEY}}", 3, ["HEADWATER_…", "are reserved for settings"]),
        (LINE + "key: {env: A, vault: B}}", 3, ["exactly one source"]),
        (LINE + "key: {vault: 'http://vault/secrets/x'}}", 3, ["key.vault"]),
        (LINE + "headers: {x: {env: [1]}}}", 3, ["headers"]),
        (LINE + "batch: 0}", 3, ["batch", "greater than or equal to 1"]),
        ("  out: {type: openlineage, url: 'https://me:secret@host'}", 3, ["url"]),
        ("  out: {type: openlineage, url: 'https://host?code=secret'}", 3, ["url"]),
        ("  out: {type: openlineage, url: 'file:///etc/passwd'}", 3, ["url"]),
        ("  out: {type: kafka, servers: 'a:1', topic: 'no topic'}", 3, ["topic"]),
        ("  out: [1]", 3, ["out", "no mapping"]),
        ("  out: {type: file, folder: x}\n  out: {type: file, folder: y}", 4, ["out is given twice"]),
        ("  - {type: file}", 3, ["no mapping"]),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line_and_what_fits(sinks: str, line: int, words: list[str]) -> None:
    said = wrong(f"version: 1\nsinks:\n{sinks}\n")
    assert said.startswith(f"sinks.yml, line {line}, "), said
    assert all(word in said for word in words), said
    assert "secret" not in said.replace("a secret", "").replace("the secret", "").replace("secrets/", ""), said


@pytest.mark.parametrize("text", ["sinks: {}", "version: 2", "version: 1\nsink: {}", "version: 1\nsinks: {out: ", "\t"])
def test_what_is_no_file_of_sinks_is_refused(text: str) -> None:
    assert wrong(text).startswith("sinks.yml, line ")


@pytest.mark.parametrize("text", ["", "version: 1", "version: 1\nsinks: {}", "# nothing yet"])
def test_a_file_may_name_none(text: str) -> None:
    assert parse_sinks(text, "sinks.yml") == ({}, {})


def test_the_examples_of_the_documentation_can_be_read() -> None:
    _, *examples = (ROOT / "docs/reference/sinks.md").read_text().split("```yaml\n")
    found = [parse_sinks(text.split("```")[0], "sinks.yml").sinks for text in examples]
    assert [[each.options.type for each in sinks.values()] for sinks in found] == [
        ["marquez", "openlineage", "kafka", "file"],
        ["openlineage", "openlineage"],
        ["openlineage", "openlineage"],
        ["datahub"],
        ["purview"],
        ["file"],
        ["file", "file"],
        ["delta"],
        ["webhook"],
        ["webhook"],
        ["slack", "email"],
    ]


def test_a_change_is_seen_and_a_broken_file_leaves_the_last_good_sinks(tmp_path: Path) -> None:
    file = SinksFile(LocalSinksFile(tmp_path / "sinks.yml"))
    assert (file.current_sinks(), file.problem) == ({}, None)
    (tmp_path / "sinks.yml").write_text(GOOD)
    good = file.current_sinks()
    assert [*good] == ["out"]
    (tmp_path / "sinks.yml").write_text(GOOD.replace("openlineage", "openlinage"))
    assert file.current_sinks() == good
    assert "line 3" in (file.problem or "")
    (tmp_path / "sinks.yml").write_text(GOOD.replace("one", "another"))
    assert file.current_sinks() != good
    assert file.problem is None
    (tmp_path / "sinks.yml").unlink()
    assert file.current_sinks() == {}


def test_a_pause_of_nothing_is_taken_as_documented() -> None:
    """`0s` is the documented default of `every`, but an invalid timeout."""
    for kind in ({"type": "marquez", "url": "http://h"}, {"type": "datahub", "url": "http://h"}):
        assert sink(**kind, every="0s").options.every == 0.0
    assert sink(type="file", folder="out", every=0).options.every == 0.0
    with pytest.raises(WrongSetting, match="is not a duration"):
        sink(type="marquez", url="http://h", timeout="0s")


@pytest.mark.parametrize(
    "value",
    ["9" * 100_000, "-" + "9" * 5_000, "1970-99-99", "!!int ''", "!!int x", "!!bool x", "!!float x", "!!timestamp x"],
)
def test_a_value_that_yaml_cannot_read_is_an_error_of_its_line(value: str) -> None:
    options = f"    type: openlineage\n    url: 'https://a.example'\n    batch: {value}\n"
    said = wrong(f"version: 1\nsinks:\n  out:\n{options}")
    assert said.startswith("sinks.yml, line 6, "), said
    assert "is not a valid" in said
    assert len(said) < 400


def test_a_version_of_100_000_digits_is_an_error_of_its_line() -> None:
    assert wrong(f"version: {'9' * 100_000}\nsinks: {{}}\n").startswith("sinks.yml, line 1")
