"""The settings of a deployment: one file for deploy, what-if and CI, a valid budget, and clear errors."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from tests.infra.templates import BICEP, MAIN, PARAMETERS, ROOT, default, names, source
from tools.azure_environment import BUDGET, known_settings

THIS_MONTH = datetime.now(UTC).strftime("%Y-%m-01")
KEYS = {"RECEIVER_KEYS": "[]", "PIPELINE_KEYS": "[]"}
BUDGETED = {"MONTHLY_BUDGET": "60", "ALERT_EMAIL": "oncall@example.org"}


class Deployer:
    """A machine with stand-ins for Azure's commands, on which azd's hook and the workflow's steps run unchanged."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("az", "azd"):
            (folder / "bin").mkdir(exist_ok=True)
            shutil.copy(ROOT / "tests" / "infra" / "fake_az.py", folder / "bin" / name)
        for name in ("tools", "infra"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "npm"))
        (folder / "bin" / "python3").symlink_to(sys.executable)

    def sh(self, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        given = {"PATH": path, "FAKE_AZURE": str(self.folder), "AZURE_RESOURCE_GROUP": "headwater", **variables}
        return subprocess.run(
            ["bash", "-e", "-c", command], cwd=self.folder, env=given, capture_output=True, text=True, check=False
        )

    def workflow(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the steps of deploy.yml from the settings to the deployment with the given GitHub variables."""
        steps = yaml.safe_load((ROOT / ".github/workflows/deploy.yml").read_text())["jobs"]["deploy"]["steps"]
        (choose,) = (step["run"] for step in steps if "azure_environment" in step.get("run", ""))
        (create,) = (step["run"] for step in steps if "deployment group create" in step.get("run", ""))
        chosen, output = self.folder / "github.env", self.folder / "output"
        chosen.write_text("")
        done = self.sh(choose, GITHUB_ENV=str(chosen), GITHUB_VARS=json.dumps(variables))
        if done.returncode:
            return done
        kept = dict(line.split("=", 1) for line in chosen.read_text().splitlines())
        return self.sh(create, GITHUB_OUTPUT=str(output), **kept)

    def azd(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the hook of azure.yaml, then deploy with the variables that it stored in azd's environment."""
        hook = yaml.safe_load((ROOT / "azure.yaml").read_text())["hooks"]["preprovision"]["posix"]["run"]
        done = self.sh(hook, AZURE_ENV_NAME="test", **KEYS, **variables)
        if done.returncode:
            return done
        stored = self.folder / "azd.env"
        kept = dict(line.split("=", 1) for line in stored.read_text().splitlines()) if stored.exists() else {}
        return self.sh("az deployment group create", **variables | kept)

    def existing_budget(self, start: str) -> None:
        (self.folder / "budget.json").write_text(json.dumps({"startDate": start}))

    def budget(self) -> str | None:
        path = self.folder / "budget.json"
        return str(json.loads(path.read_text())["startDate"]) if path.exists() else None


@pytest.fixture
def machine(tmp_path: Path) -> Deployer:
    return Deployer(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["workflow", "azd"])
@pytest.mark.parametrize(
    "existing",
    [None, f"{THIS_MONTH}T00:00:00Z", "2026-02-01T00:00:00Z", "2026-02-01T00:00:00.0000000Z"],
    ids=["first", "same month", "later month", "deployed before BUDGET_FROM"],
)
def test_every_deployment_gives_the_budget_a_start_that_azure_takes(
    existing: str | None, way: str, machine: Deployer
) -> None:
    if existing:
        machine.existing_budget(existing)
    for _ in range(2):
        done = getattr(machine, way)(**BUDGETED)
        assert done.returncode == 0, done.stderr
        assert machine.budget() == (existing or f"{THIS_MONTH}T00:00:00Z")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["workflow", "azd"])
@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"PRIVATE_INGRESS": "true"}, "PRIVATE_INGRESS needs"),
        ({"FABRIC_WORKSPACES": '["0"]'}, "FABRIC_WORKSPACES opens"),
        ({"MONTHLY_BUDGET": "60"}, "ALERT_EMAIL, which is not set"),
    ],
)
def test_settings_that_exclude_each_other_are_refused(
    variables: dict[str, str], reason: str, way: str, machine: Deployer
) -> None:
    done = getattr(machine, way)(**variables)
    assert (done.returncode, reason in done.stderr) == (1, True), done.stderr


@pytest.mark.slow
def test_a_budget_that_cannot_be_read_is_not_taken_for_none(machine: Deployer) -> None:
    (machine.folder / "signed_out").touch()
    done = machine.workflow(**BUDGETED)
    assert (done.returncode, "az login" in done.stderr) == (1, True)


@pytest.mark.slow
def test_the_file_of_an_environment_is_complete_and_unambiguous(machine: Deployer) -> None:
    path = machine.folder / "infra" / "environments" / "azure.json"
    command = "python3 -m tools.azure_environment azure"
    path.write_text(json.dumps({"TIER": "small", "PRIVATE_NETWORK": True, "PRIVATE_INGRESS": True, **BUDGETED}))
    printed = machine.sh(f"{command} --write").stdout.splitlines()
    assert {"PRIVATE_NETWORK=true", "PRIVATE_INGRESS=true", f"BUDGET_FROM={THIS_MONTH}"} <= set(printed)
    assert json.loads(path.read_text())["BUDGET_FROM"] == THIS_MONTH
    conflict = machine.sh(command, GITHUB_VARS='{"PRIVATE_INGRESS": "false"}')
    assert "PRIVATE_INGRESS is true in azure.json, but false in GitHub's variables" in conflict.stderr
    for stored, reason in (
        ({"PRIVATE_NETWROK": True}, "unknown settings: PRIVATE_NETWROK"),
        ({"TIER": "big"}, "TIER is big"),
    ):
        path.write_text(json.dumps(stored))
        assert reason in machine.sh(command).stderr


def test_both_tiers_read_every_setting_and_the_templates_refuse_what_the_tool_refuses() -> None:
    read = {
        name: set(re.findall(r"readEnvironmentVariable\('(\w+)'", (BICEP / name).read_text())) for name in PARAMETERS
    }
    assert read["small.bicepparam"] == read["standard.bicepparam"] > known_settings() - {"TIER"}
    text = source(MAIN)
    assert "!privateNetwork && (privateIngress || !empty(fabricWorkspaces))" in text
    assert "monthlyBudget > 0 && (empty(alertEmail) || empty(budgetFrom))" in text
    assert "publicNetworkAccess = !empty(unsupported) ? json(unsupported)" in text, (
        "every deployment uses this variable"
    )
    assert default("prefix") == BUDGET


def test_deployment_what_if_and_ci_read_the_file_of_the_environment() -> None:
    steps = {}
    for file, job in (("deploy.yml", "deploy"), ("azure.yml", "what-if"), ("azure.yml", "templates")):
        found = yaml.safe_load((ROOT / ".github/workflows" / file).read_text())["jobs"][job]
        steps[job] = found
        assert "tools.azure_environment" in "".join(step.get("run", "") for step in found["steps"]), job
    assert "vars." not in str(steps["what-if"]["if"]), "a job's condition cannot read an environment's variables"
    secrets = {name: value for name, value in steps["deploy"]["env"].items() if "secrets." in value}
    assert secrets.items() <= steps["what-if"]["env"].items()
    for job in ("deploy", "what-if"):
        assert steps[job]["env"]["GITHUB_VARS"] == "${{ toJSON(vars) }}"


def test_no_value_that_azure_compares_depends_on_the_day_of_the_deployment() -> None:
    assert [name for name in names() if re.search(r"utcNow|newGuid", source(name))] == []
