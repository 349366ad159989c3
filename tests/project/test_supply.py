"""Reports about the vulnerabilities of dependencies, with and without an answer from the advisory service."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tools.audit import Verdict, read_npm_audit, read_pip_audit, tell
from tools.sbom import jars_bom, version

UNIT = ROOT / "infra" / "systemd" / "headwater.service"


def test_a_package_that_the_service_does_not_know_is_not_known_to_be_well() -> None:
    """pip-audit exits with 0 and `No known vulnerabilities found` even if it got no answer about any package."""
    said = {"dependencies": [{"name": "certifi", "skip_reason": "Dependency not found on PyPI"}], "fixes": []}
    verdict = read_pip_audit("a.lock", json.dumps(said), "No known vulnerabilities found")
    assert (verdict.found, "certifi" in str(verdict.unknown)) == ([], True)
    lost = "Traceback\nrequests.exceptions.ConnectionError: Failed to resolve 'api.osv.dev'\n"
    assert "api.osv.dev" in str(read_pip_audit("a.lock", "", lost).unknown)


def test_what_is_found_is_named_with_what_mends_it() -> None:
    flaw = {"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": [], "description": ""}
    said = {
        "dependencies": [{"name": "a", "version": "2.0", "vulns": [flaw]}, {"name": "b", "version": "1", "vulns": []}]
    }
    assert read_pip_audit("a.lock", json.dumps(said), "") == Verdict("a.lock", ["a 2.0: PYSEC-1, fixed in 2.1"])
    answer = {"vulnerabilities": {"vite": {"range": "<6", "severity": "high"}}}
    assert read_npm_audit("web", json.dumps(answer), "") == Verdict("web", ["vite <6: high"])


def test_an_endpoint_of_npm_that_refuses_is_said() -> None:
    refused = {"message": "405 Method Not Allowed - POST /-/npm/v1/security/advisories/bulk", "error": {"summary": ""}}
    assert "405" in str(read_npm_audit("web", json.dumps(refused), "npm error").unknown)
    assert read_npm_audit("web", "", "npm error network").unknown == "npm error network"


@pytest.mark.parametrize(
    ("verdicts", "status", "words"),
    [
        ([Verdict("a", [])], 0, "a: 0 known"),
        ([Verdict("a", []), Verdict("b", [], "no answer")], 3, "NOT KNOWN: no answer"),
        ([Verdict("a", ["x 1: PYSEC-1"]), Verdict("b", [], "no answer")], 1, "x 1: PYSEC-1"),
    ],
)
def test_no_answer_is_another_status_than_nothing_found(
    verdicts: list[Verdict], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tell(verdicts) == status
    assert words in capsys.readouterr().out


def test_jars_are_listed_with_versions_and_hashes() -> None:
    lists = sorted((ROOT / "jvm").glob("*.sha256"))
    bom = jars_bom(lists)
    hashes = {line.split()[0] for file in lists for line in file.read_text().splitlines()}
    assert {part["hashes"][0]["content"] for part in bom["components"]} == hashes
    assert all(part.get("version") for part in bom["components"])
    assert ("delta-spark_2.12", "3.3.3") in {(part["name"], part["version"]) for part in bom["components"]}
    assert bom["metadata"]["component"]["version"] == version()


def test_the_unit_is_one_that_systemd_takes_and_shuts_what_it_can(tmp_path: Path) -> None:
    text = UNIT.read_text()
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "StateDirectory=headwater", "Restart=always"):
        assert f"\n{line}\n" in text
    if not (tool := shutil.which("systemd-analyze")):
        return
    here = tmp_path / UNIT.name
    here.write_text(text.replace("/opt/headwater/bin/headwater", "/bin/true"))
    done = subprocess.run([tool, "verify", "--man=no", here], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
