"""OpenLineage's compatibility suite: our entry runs against a real Headwater, and the documentation shows
its results.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.compatibility import COMPAT, CONSUMER, RECORDED, STAND_INS, VALIDATOR, counted, lay_out
from tests.support.data.shop import Asker, up

PAGE = COMPAT.parent / "docs/reference/compatibility.md"
HIVE, REMADE = "hdfs://dataproc-producer-test-m", "/user/hive/warehouse/t2"
BUCKET = "gs://mock-bucket"
ROW = re.compile(r"^\| `(\w+)` \| (\d+) \| (\d*) \| (\d*) \| (\d*) \| (\w+) \|", re.MULTILINE)


@pytest.mark.slow
def test_every_scenario_ends_as_expected_and_the_docs_say_so(tmp_path: Path) -> None:
    lay_out(tmp_path / "scenarios")
    target = tmp_path / "report.json"
    with up(tmp_path / "data") as running:
        command = [sys.executable, str(VALIDATOR), "--url", running.url, "--target", str(target)]
        folders = ["--consumer_dir", str(CONSUMER), "--scenario_dir", str(tmp_path / "scenarios")]
        done = subprocess.run([*command, *folders], capture_output=True, text=True, check=False, timeout=120)
        with Asker(running.url) as asker:
            remade = asker.ask("names", namespace=HIVE, name=REMADE), asker.ask("search", q=REMADE)
            file = asker.ask("impact", namespace=BUCKET, dataset="uploaded_file.txt")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    found = counted(json.loads(target.read_text()))
    assert sorted(found) == sorted([*RECORDED, *STAND_INS])
    assert found == documented()
    (stop,) = file["stops"]
    onward = {each["dataset"] for each in stop["onward"]}
    assert onward == {"copy_of_uploaded_file.txt", "compose_result.txt", "/files/temp/downloaded_file.txt"}
    names, hits = remade
    assert [each["rule"] for each in names["items"]] == ["as-sent"], "a recreated table must have one name"
    assert [each["kind"] for each in hits["items"] if each["name"] == REMADE and each["kind"] != "column"] == [
        "dataset"
    ]


def documented() -> dict[str, tuple[str, int, dict[str, int]]]:
    """Read the table of `docs/reference/compatibility.md` with the results for the suite's own events."""
    rows = ROW.findall(PAGE.read_text("utf-8"))
    entities = ("job", "run", "dataset")
    return {
        name: (status, int(events), {each: int(count) for each, count in zip(entities, counts, strict=True) if count})
        for name, events, *counts, status in rows
    }


def test_the_entry_has_every_file_that_the_suite_looks_for() -> None:
    for name in (
        "README.md",
        "maintainers.json",
        "mapping.json",
        "run_headwater_tests.sh",
        "validator/requirements.txt",
    ):
        assert (CONSUMER / name).is_file(), name
    for scenario in (CONSUMER / "scenarios").iterdir():
        for name in ("config.json", "maintainers.json", "scenario.md", "validation"):
            assert (scenario / name).exists(), f"{scenario.name}/{name} is missing"
        for test in json.loads((scenario / "config.json").read_text())["tests"]:
            assert json.loads((scenario / test["path"]).read_text()), test["path"]


EXPECTED = {"state": "COMPLETED", "inputs": [{"name": "a"}, {"name": "b"}]}


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"state": "COMPLETED", "inputs": [{"name": "b", "x": 1}, {"name": "a"}], "more": 1}, []),
        ({"state": "FAILED", "inputs": [{"name": "a"}, {"name": "b"}]}, ['it.state is "FAILED", not "COMPLETED"']),
        ({"inputs": [{"name": "a"}, {"name": "b"}]}, ["it.state is missing"]),
        ({"state": "COMPLETED", "inputs": [{"name": "a"}]}, ['it.inputs has no {"name": "b"}']),
        (
            {"state": "COMPLETED", "inputs": [{"name": "a"}, {"name": "b"}, {"name": "b"}]},
            ['it.inputs has {"name": "b"}, which nobody expects'],
        ),
        ({"state": "COMPLETED", "inputs": None}, ['it.inputs is null, not [{"name": "a"}, {"name": "b"}]']),
    ],
)
def test_an_answer_that_is_not_as_expected_is_told(found: dict[str, Any], says: list[str]) -> None:
    assert list(validator().differences(EXPECTED, found, "it")) == says


def validator() -> Any:
    """Import the entry's validator, which does not belong to a package."""
    spec = importlib.util.spec_from_file_location("headwater_validator", VALIDATOR)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
