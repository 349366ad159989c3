"""Data contracts are valid by the standard, equal for equal facts, and report which run breaks them."""

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from headwater.common.errors import WrongSetting
from headwater.governance.contracts.checking import ObservedAnswers
from headwater.governance.contracts.policies import parse_policies
from headwater.governance.contracts.promise import Promise, PromisedColumn, parse_promises
from headwater.index.reading.view_opener import ViewOpener
from headwater.operations.runtime.index import open_view_opener
from tests.reference.world_events import at, uuid
from tests.reference.worlds import FEW, random_world, world_in_namespace
from tests.support.commands import commanded
from tests.support.data.contract_judge import Sources, every_contract, held, is_valid, written
from tests.support.data.contract_lake import (
    AGREED_S,
    BREACHES,
    BROKE_S,
    LAKE,
    PIPELINES,
    RHYTHM,
    STEADY,
    agreed,
    broken,
)
from tests.support.data.parsing import World
from tests.support.data.samples import body
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

AGREED = at(AGREED_S)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("contracts") / "data")
    world.append(*map(body, (*agreed(), *broken())))
    while world.parser().commit_next():
        pass
    return world


@pytest.fixture(scope="module")
def views(world: World) -> Iterator[ViewOpener]:
    opened = open_view_opener(world.settings, world.folder)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def sources(views: ViewOpener, world: World) -> Sources:
    return Sources(views, world)


def agreed_on(sources: Sources, dataset: tuple[str, str]) -> Promise:
    """Return the contract of a dataset from before anything broke it."""
    (found,) = parse_promises(written(sources, dataset, AGREED), "a test")
    return found


@pytest.mark.parametrize("name", sorted(BREACHES))
def test_a_breach_is_found_with_its_run_and_nothing_else(sources: Sources, name: str) -> None:
    pipeline, breach = PIPELINES[name], BREACHES[name]
    promise = agreed_on(sources, pipeline.gold)
    assert held(sources, promise, AGREED) == []
    found = [(each.kind, each.column, each.responsible_run.run) for each in held(sources, promise)]
    assert found == [(breach.kind, breach.column, pipeline.breaker)]


def test_a_contract_is_kept_by_what_is_as_it_was_and_more(sources: Sources) -> None:
    assert held(sources, agreed_on(sources, STEADY.gold)) == []


def test_a_column_that_only_readers_list_is_in_no_contract_by_itself(sources: Sources) -> None:
    (found,) = parse_promises(written(sources, STEADY.gold), "a test")
    assert [column.name for column in found.columns] == ["id", "email", "total", "extra"]
    facts = ObservedAnswers(sources.ask).facts_by_name(*STEADY.gold)
    assert [column.name for column in facts.columns if column.readers_only] == ["ghost"]
    ghost = PromisedColumn("ghost", "string", frozenset(), None, None, None)
    assert held(sources, found._replace(columns=(*found.columns, ghost))) == []


def test_a_column_that_readers_no_longer_list_is_a_warning_and_not_removed(
    sources: Sources, world: World, tmp_path: Path
) -> None:
    (found,) = held(sources, agreed_on(sources, STEADY.landing))
    assert (found.kind, found.column, found.is_warning) == ("column.not_listed", "tax", True)
    assert found.responsible_run.time == at(BROKE_S + 40)
    file, data = tmp_path / "landing.yml", ("--data", world.settings.data)
    file.write_text(written(sources, STEADY.landing, AGREED))
    junit, sarif = tmp_path / "junit.xml", tmp_path / "check.sarif"
    checked = commanded("contract", "check", file, "--junit", junit, "--sarif", sarif, *data)
    assert (checked.returncode, checked.stdout.splitlines()[-1]) == (
        0, "Checked 1 dataset in 1 file: 0 breaks, 1 warning"
    )  # fmt: skip
    assert checked.stdout.startswith(f"{file}: warning column.not_listed: {LAKE}/steady/landing#tax: no job that reads")
    assert [each.get("failures") for each in ElementTree.parse(junit).getroot()] == ["0"]
    (run,) = json.loads(sarif.read_text())["runs"]
    assert [each["level"] for each in run["results"]] == ["warning"]
    assert commanded("contract", "check", file, "--strict", *data).returncode == 1


def test_what_is_not_written_any_more_is_late_by_its_own_rhythm(sources: Sources) -> None:
    promise = agreed_on(sources, RHYTHM.gold)
    assert promise.levels.longest_s == 30 * 3_600
    assert held(sources, promise, AGREED) == []
    ((kind, by),) = [
        (each.kind, each.responsible_run.run) for each in held(sources, promise, at(AGREED_S + 5 * 86_400))
    ]
    assert (kind, by) == ("freshness.late", ObservedAnswers(sources.ask).facts_by_name(*RHYTHM.gold).service.newest.run)


def a_lake(folder: Path, events: Sequence[bytes]) -> World:
    world = World(folder / "data")
    for part in (events[::2], events[1::2]):
        world.append(*part)
        while world.parser().commit_next():
            pass
    return world


def is_stable(tmp_path: Path, seeds: Iterable[int]) -> None:
    """Check that random worlds have the same contracts after shuffling and duplicating events."""
    worlds = [world_in_namespace(random_world(seed), f"w{seed}-") for seed in seeds]
    events = [body(each.event) for world in worlds for each in world]
    once = every_contract(a_lake(tmp_path / "once", events))
    shuffled = [*events, *events[::3]]
    random.Random(7).shuffle(shuffled)
    assert every_contract(a_lake(tmp_path / "again", shuffled)) == once
    assert len(once) > len(worlds)


def test_contracts_of_random_worlds_are_valid_kept_and_the_same_for_the_same_facts(tmp_path: Path) -> None:
    is_stable(tmp_path, FEW[:6])


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_contracts_of_fifty_random_worlds_are_valid_kept_and_the_same(tmp_path: Path) -> None:
    is_stable(tmp_path, range(50))


def test_a_contract_says_whence_each_column_comes_and_how(sources: Sources) -> None:
    text = written(sources, STEADY.gold, AGREED)
    is_valid(text)
    found = yaml.safe_load(text)
    (table,) = found["schema"]
    columns = {each["name"]: each for each in table["properties"]}
    email = {each["property"]: each["value"] for each in columns["email"]["customProperties"]}
    assert (found["apiVersion"], found["status"], table["physicalName"]) == ("v3.1.0", "active", f"{LAKE}/steady/gold")
    assert found["team"] == {"members": [{"username": "team-sales", "role": "TEAM"}]}
    assert [each["column"] for each in email["lineage"]] == [
        f"{LAKE}/steady/{layer}#email" for layer in ("silver", "bronze", "landing")
    ]
    assert [each["masked"] for each in email["lineage"]] == [False, True, True]
    assert email["holds"] == [{"tag": "pii", "exposure": "masked"}]
    assert (columns["email"]["tags"], columns["email"]["classification"]) == (["contact"], "contact")
    total = columns["total"]
    assert (total["logicalType"], total["physicalType"], total["description"]) == ("number", "double", "The total.")
    assert total["transformSourceObjects"] == [f"{LAKE}/steady/silver#amount", f"{LAKE}/steady/silver#tax"]
    assert f"{LAKE}/steady/silver#amount: direct aggregation: sum(amount)" in total["transformLogic"]
    assert {each["property"]: (each["value"], each["unit"]) for each in found["slaProperties"]} == {
        "minimumRows": (500, "rows")
    }


def test_a_file_is_checked_on_the_command_line_with_reports_for_ci(world: World, tmp_path: Path) -> None:
    folder, data = tmp_path / "contracts", ("--data", world.settings.data)
    folder.mkdir()
    (folder / "policies.yml").write_text(POLICIES)
    for name in ("type", "steady"):
        made = ("--against", AGREED, "--out", folder / f"{name}.yml")
        assert commanded("contract", f"{name}/gold", *made, *data).returncode == 0
    kept = commanded("contract", "check", folder / "steady.yml", *data)
    assert (kept.returncode, kept.stdout) == (0, "Checked 1 dataset in 1 file: 0 breaks\n")
    reports = ("--junit", tmp_path / "junit.xml", "--sarif", tmp_path / "check.sarif")
    found = commanded("contract", "check", folder, *reports, *data)
    lines = found.stdout.splitlines()
    assert found.returncode == 1
    assert f"run {PIPELINES['type'].breaker}" in lines[0]
    assert lines[0].startswith(f"{folder}/type.yml: column.retyped: {LAKE}/type/gold#id: its type is bigint")
    assert [line.split(": ")[1:3] for line in lines[1:-1]] == [
        ["policy.exposed", f"{LAKE}/mask/gold#email"], ["policy.exposed", f"{LAKE}/mask/silver#email"],
        ["policy.owner", f"{LAKE}/type/silver"], ["policy.masked", f"{LAKE}/mask/gold#email"],
    ]  # fmt: skip
    assert all(PIPELINES["mask"].breaker in line for line in lines[1:-1] if "mask/" in line)
    suites = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [(each.get("tests"), each.get("failures")) for each in suites] == [("1", "0"), ("1", "1"), ("4", "4")]
    (run,) = json.loads((tmp_path / "check.sarif").read_text())["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    line = (folder / "type.yml").read_text().splitlines()[place["region"]["startLine"] - 1]
    assert (line.strip(), run["results"][0]["ruleId"]) == ("- name: id", "column.retyped")
    against = commanded("contract", "check", folder / "type.yml", "--against", PIPELINES["type"].breaker, *data)
    assert against.returncode == 1
    assert commanded("contract", "check", folder / "type.yml", "--against", AGREED, *data).returncode == 0
    unknown = commanded("contract", "check", folder / "type.yml", "--against", uuid(1 << 40), *data)
    assert (unknown.returncode, unknown.stdout) == (3, "")
    assert "No run" in unknown.stderr


POLICIES = f"""
version: 1
policies:
  pii stays: {{tag: pii, stays_in: ["*/landing", "*/bronze"]}}
  hashed: {{masked: ["{LAKE}/mask/gold#email", "{LAKE}/steady/gold#email"]}}
  owned: {{owner: ["*/gold", "{LAKE}/type/silver"]}}
"""


def test_a_newer_contract_counts_its_version_on_and_diff_says_what_breaks(world: World, tmp_path: Path) -> None:
    data, file, old = ("--data", world.settings.data), tmp_path / "now.yml", tmp_path / "old.yml"
    for name, version, breaks in (("steady", "1.1.0", False), ("type", "2.0.0", True)):
        assert commanded("contract", f"{name}/gold", "--against", AGREED, "--out", old, *data).returncode == 0
        file.write_bytes(old.read_bytes())
        for _ in range(2):  # the second run must give the same result
            assert commanded("contract", f"{name}/gold", "--out", file, *data).returncode == 0
            assert yaml.safe_load(file.read_text())["version"] == version
        found = commanded("contract", "diff", old, file, "--json")
        assert (found.returncode, json.loads(found.stdout)["breaking"]) == (int(breaks), breaks)
        assert {each["kind"] for each in json.loads(found.stdout)["items"]} == (
            {"column.retyped"} if breaks else {"column.added"}
        )
        old.unlink()


TABLE = "kind: DataContract\napiVersion: v3.1.0\nid: x\nschema: [%s]"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a mapping"), ("- a", "not a mapping"), ("a: [", "is not valid YAML"), ("a: [&b [c], *b]", "alias"),
        ("kind: DataContract", "not an ODCS 3 data contract"),
        ("[" * 100_000, "is not valid YAML"), ("a: " + "[" * 200 + "]" * 200, "nests"),
        ("kind: DataContract\napiVersion: v3.1.0\nid: x\nversion: 1", "does not list any table"),
        ("kind: DataContract\napiVersion: v3.1.0\nschema: [{}]", "neither"),
        ("a: !!python/object:os.system x", "is not valid YAML"),
        (TABLE % "{name: t, properties: {id: {}}}", "`properties` of 't' is not a list"),
        (TABLE % "{name: t, properties: [id]}", "column of 't' has no `name`"),
        (TABLE % "{name: t, properties: [{name: no}]}", "`name: False` is not a string"),
        (TABLE % "{name: t, properties: [{name: id, tags: pii}]}", "`tags` of 'id' is not a list"),
        (TABLE % "{name: t, physicalName: [1]}", "is not a string"),
        (TABLE % "{name: t}" + "\nschema: []", "the key 'schema' occurs twice"),
        (TABLE % "{name: t}" + "\nslaProperties: {latency: 1}", "`slaProperties` of 'x' is not a list"),
    ],
)  # fmt: skip
def test_what_is_no_contract_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(WrongSetting, match=why):
        parse_promises(text, "a.yml")


@pytest.mark.parametrize(
    "text",
    [
        "version: 2\npolicies: {}",
        "version: 1\npolicies: [a]",
        "version: 1\npolicies: {a: {tag: pii}}",
        "version: 1\npolicies: {a: {masked: ['*/gold']}}",
        "version: 1\npolicies: {a: {owner: gold}}",
        "version: 1\npolicies: {a: {owner: []}}",
        "version: 1\npolicies: {}\nmore: 1",
    ],
)
def test_what_is_no_policy_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(WrongSetting, match=r"Write|has a pattern without a column"):
        parse_policies(text, "policies.yml")


def test_a_policy_that_fits_nothing_is_not_kept(world: World, tmp_path: Path) -> None:
    file, seen = tmp_path / "policies.yml", f"{LAKE}/mask/gold"
    file.write_text(
        f"""
version: 1
policies:
  tagged: {{tag: PII2, stays_in: []}}
  hashed: {{masked: ["*/mask/glod#email", "{seen}#emial", "{seen}#email"]}}
  owned: {{owner: ["*/glod", "{seen}"]}}
"""
    )
    found = commanded("contract", "check", "--policies", file, tmp_path, "--data", world.settings.data, "--json")
    assert found.returncode == 1
    assert [each["dataset"] for each in json.loads(found.stdout)["items"] if each["kind"] == "policy.unmatched"] == [
        "PII2", "*/mask/glod#email", f"{seen}#emial", "*/glod",
    ]  # fmt: skip


def test_a_tagged_column_may_be_readable_only_where_its_policy_allows_it(world: World, tmp_path: Path) -> None:
    data, file = ("--data", world.settings.data), tmp_path / "policies.yml"

    def broken(*places: str) -> list[Any]:
        file.write_text(f"version: 1\npolicies: {{pii stays: {{tag: pii, stays_in: {json.dumps(places)}}}}}")
        found = commanded("contract", "check", "--policies", file, tmp_path, *data, "--json")
        return [each for each in json.loads(found.stdout)["items"] if "steady/" in each["dataset"]]

    assert broken("*/landing", "*/bronze") == []
    (landing,) = broken("*/bronze")
    assert (landing["kind"], landing["dataset"]) == ("policy.exposed", f"{LAKE}/steady/landing")
    assert (landing["column"], landing["run"] is not None) == ("email", True), (
        "the finding names the run that tagged the column"
    )


def test_contracts_of_others_promise_what_they_say_and_nothing_else(sources: Sources) -> None:
    other = """
apiVersion: v3.0.2
kind: DataContract
id: x
version: 1.0.0
schema:
- name: gold
  physicalName: type/gold
  properties:
  - {name: ID, physicalType: INT}
  - {name: total, transformSourceObjects: [s3://contracts/type/silver#tax, s3://contracts/type/silver#amount]}
team: [{username: team-sales}]
slaProperties: [{property: latency, value: 3, unit: d}, {property: latency}, 7]
"""
    (promise,) = parse_promises(other, "other.yml")
    found = [(each.kind, each.column) for each in held(sources, promise, AGREED)]
    assert found == [("freshness.late", None)]
    assert [(each.kind, each.column) for each in held(sources, promise)][1:] == [("column.retyped", "ID")]


ACTION = ROOT / ".github/actions/contract/action.yml"


def test_the_action_is_well_formed_and_checks_as_a_shell_runs_it(world: World, tmp_path: Path) -> None:
    action = yaml.safe_load(ACTION.read_text())
    steps = action["runs"]["steps"]
    used = set(re.findall(r"inputs\.(\w+)", ACTION.read_text()))
    assert action["runs"]["using"] == "composite"
    assert used == action["inputs"].keys()
    assert all("default" in each and each["description"] for each in action["inputs"].values())
    scripts = [each for each in steps if "run" in each]
    # inputs must not be interpolated into scripts
    assert all("shell" in each and "${{" not in each["run"] for each in scripts)
    assert {each["value"] for each in action["outputs"].values()} == {
        f"${{{{ steps.{steps[-1]['id']}.outputs.{name} }}}}" for name in action["outputs"]
    }
    where = tmp_path / "headwater/bin"
    where.mkdir(parents=True)
    (where / "headwater").write_text(f'#!/bin/sh\nexec {sys.executable} -m headwater "$@"\n')
    (where / "headwater").chmod(0o755)
    contract = tmp_path / "steady.yml"
    assert commanded("contract", "steady/gold", "--out", contract, "--data", world.settings.data).returncode == 0
    environment = {
        "PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output"),
        "CONTRACTS": str(contract), "AGAINST": "now", "REPORTS": str(tmp_path / "reports"),
        "DATA": str(world.settings.data), "HEADWATER_URL": "", "HEADWATER_KEY": "",
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", steps[-1]["run"]], env=environment, check=False)
    assert done.returncode == 0
    told = dict(line.split("=") for line in (tmp_path / "output").read_text().splitlines())
    assert set(told) == action["outputs"].keys()
    assert all(Path(path).stat().st_size for path in told.values())
