"""The ways to deploy: what azure.yaml and the workflow name is there, and no password is among it."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from functions import app_settings
from tests.infra.templates import APPS, BICEP, MAIN, PARAMETERS, ROOT, SINKS, body, resources, template
from tools.function_zip import PACKAGE, RECEIVER, receiver_shipped

WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = WORKFLOWS / "deploy.yml"
TESTS = WORKFLOWS / "test.yml"


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    return found


@pytest.fixture(scope="module")
def tests() -> dict[str, Any]:
    """Give the job that a pull request and a deployment must pass."""
    found: dict[str, Any] = yaml.safe_load(TESTS.read_text())["jobs"]["test"]
    return found


def steps(job: dict[str, Any]) -> str:
    return "\n".join(str(step.get("run", step.get("uses"))) for step in job["steps"])


def test_azd_finds_the_templates_and_both_apps() -> None:
    found = yaml.safe_load((ROOT / "azure.yaml").read_text())
    assert (ROOT / found["infra"]["path"] / f"{found['infra']['module']}.bicepparam").exists()
    assert set(found["services"]) == set(APPS)
    ((_, _, app),) = resources("Microsoft.Web/sites")
    assert body(app)["tags"]["function"]["parameters"]["arg_2"] == {"'azd-service-name'": "service"}
    services = [body(module)["params"].get("service") for module in template(MAIN)["modules"].values()
                if module["detail"]["path"] == "modules/app.bicep"]  # fmt: skip
    assert services == [*APPS, SINKS], "azd deploys those that are always there"


def test_nothing_is_deployed_that_was_not_linted_tested_and_packed_before(
    jobs: dict[str, Any], tests: dict[str, Any]
) -> None:
    assert (jobs["deploy"]["needs"], jobs["package"]["needs"]) == ("package", "test")
    assert jobs["test"] == {"uses": f"./{TESTS.relative_to(ROOT)}"}
    assert steps(tests).splitlines()[-1] == "make test"
    packed = steps(jobs["package"]).splitlines()
    assert {"python -m tools.function_zip", "python -m tools.function_zip --app receiver"} <= set(packed)
    whole, receivers = (path.relative_to(ROOT).as_posix() for path in (PACKAGE, RECEIVER))
    kept = next(step["with"]["path"] for step in jobs["package"]["steps"] if "path" in step.get("with", {}))
    assert kept.split() == [whole, receivers]
    pipeline_and_sinks, receiver = re.findall(r"deploy (\S+.*?) (dist/\S+)", steps(jobs["deploy"]))
    assert pipeline_and_sinks == ('"$app"', whole)
    assert receiver == ('"${{ steps.provision.outputs.receiver }}"', receivers)


@pytest.mark.slow
def test_azd_packs_for_the_receiver_what_it_imports(tmp_path: Path) -> None:
    """Its hook is run on the sources, beside a dashboard that costs no build and what an older release left."""
    for folder in ("functions", "headwater", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "assets"))
    for name in {*_of_root(receiver_shipped()), "requirements-receiver.txt"}:
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "Makefile").write_text("web:\n\ttouch built\n")
    packed = tmp_path / yaml.safe_load((ROOT / "azure.yaml").read_text())["services"]["receiver"]["project"]
    packed.mkdir(parents=True)
    (packed / "removed_since.py").touch()
    hook = yaml.safe_load((ROOT / "azure.yaml").read_text())["hooks"]["prepackage"]["run"]
    subprocess.run([ROOT / hook], cwd=tmp_path, check=True, capture_output=True)
    found = sorted(path.relative_to(packed).as_posix() for path in packed.rglob("*") if path.is_file())
    assert ((tmp_path / "built").exists(), found) == (True, receiver_shipped())
    assert (packed / "requirements.txt").read_bytes() == (ROOT / "requirements-receiver.txt").read_bytes()


def _of_root(names: list[str]) -> list[str]:
    return [name for name in names if "/" not in name]


def test_a_pull_request_is_tested_on_both_pythons_with_all_that_tests_need(tests: dict[str, Any]) -> None:
    """Without the app's Python the tests in Azure's worker would be skipped."""
    asked = yaml.safe_load(TESTS.read_text())[True]  # YAML reads the key `on` as true
    assert {"pull_request", "workflow_call"} <= set(asked)
    ((_, _, app),) = resources("Microsoft.Web/sites")
    worker = body(app)["properties"]["functionAppConfig"]["runtime"]["version"]
    assert tests["strategy"]["matrix"] == {"python": ["3.11", worker]}
    versions = [
        (step["uses"].split("@")[0].removeprefix("actions/setup-"), version)
        for step in tests["steps"]
        for name, version in step.get("with", {}).items()
        if name.endswith("-version")
    ]
    assert versions == [("python", worker), ("python", "${{ matrix.python }}"), ("java", "17"), ("node", "20")]
    run = steps(tests)
    assert run.index("make setup-test") < run.index("tools.functions_env") < run.index("make test")


def test_signing_in_needs_no_password(jobs: dict[str, Any]) -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    assert jobs["deploy"]["permissions"]["id-token"] == "write"
    login = next(step for step in jobs["deploy"]["steps"] if step.get("uses", "").startswith("azure/login"))
    assert set(login["with"]) == {"client-id", "tenant-id", "subscription-id"}
    assert "secrets." not in str(login)
    assert set(re.findall(r"secrets\.(\w+)", WORKFLOW.read_text())) == {
        "RECEIVER_KEYS", "PIPELINE_KEYS", "NOTEBOOK_WRITE_KEY", "NOTEBOOK_READ_KEY",
    }  # fmt: skip


def test_what_the_workflows_name_exists() -> None:
    text = WORKFLOW.read_text()
    targets = set(re.findall(r"(?m)^(\w[\w-]*):", (ROOT / "Makefile").read_text()))
    assert set(re.findall(r"(?m)run: make (\S+)$", text + TESTS.read_text())) <= targets
    for module in re.findall(r"python -m (tools\.\w+)", text):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module
    assert (ROOT / re.findall(r"--file (\S+)", text)[0]).exists()
    workflow = yaml.safe_load(text)
    tiers = workflow[True]["workflow_dispatch"]["inputs"]["tier"]["options"]  # YAML reads the key `on` as true
    assert {f"{tier}.bicepparam" for tier in tiers} == set(PARAMETERS)
    assert set(re.findall(r"jq -r \.(\w+)\.value", text)) <= set(template(MAIN)["outputs"])


@pytest.mark.parametrize(
    ("kept", "exported", "said"),
    [
        ("AZURE_LOCATION=westeurope\n", {"RECEIVER_KEYS": "[]", "PIPELINE_KEYS": "[]"}, ""),
        ('RECEIVER_KEYS="[]"\n', {"RECEIVER_KEYS": "[]", "PIPELINE_KEYS": "[]"}, "in clear: RECEIVER_KEYS"),
        ("", {"RECEIVER_KEYS": "[]"}, "PIPELINE_KEYS is not set"),
        ("", {"RECEIVER_KEYS": "a-bare-key", "PIPELINE_KEYS": "[]"}, "RECEIVER_KEYS is no JSON list"),
    ],
)
def test_keys_stay_out_of_azds_file(kept: str, exported: dict[str, str], said: str, tmp_path: Path) -> None:
    hook = yaml.safe_load((ROOT / "azure.yaml").read_text())["hooks"]["preprovision"]["run"]
    (tmp_path / ".azure" / "test").mkdir(parents=True)
    (tmp_path / ".azure" / "test" / ".env").write_text(kept)
    environment = {"PATH": os.environ["PATH"], "AZURE_ENV_NAME": "test", **exported}
    done = subprocess.run([ROOT / hook], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, said in done.stderr) == (int(bool(said)), True)


def test_the_hosts_job_names_settings_hub_and_group_that_there_are() -> None:
    folder = WORKFLOWS.parent / "functions-host"
    values = json.loads((folder / "local.settings.json").read_text())["Values"]
    settings = app_settings(values)
    (namespace,) = json.loads((folder / "hub.json").read_text())["UserConfig"]["NamespaceConfig"]
    (hub,) = namespace["Entities"]
    assert hub == {
        "Name": settings.hub_name,
        "PartitionCount": "2",
        "ConsumerGroups": [{"Name": settings.hub_consumer_group}],
    }
    assert values["HEADWATER_HUB"] == values["HEADWATER_HUB_CONNECTION"], "the host's and ours"
    assert f'KEY = "{json.loads(values["HEADWATER_KEYS"])[0]["key"]}"' in (folder / "post.py").read_text()
    job = yaml.safe_load((WORKFLOWS / "azure.yml").read_text())["jobs"]["functions-host"]
    assert all((ROOT / path).exists() for path in re.findall(r"\.github/functions-host/[\w.]+", steps(job)))


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_workflow_gives_the_variables_that_a_tier_reads(name: str, jobs: dict[str, Any]) -> None:
    asked = re.findall(r"readEnvironmentVariable\('(\w+)'\)", (BICEP / name).read_text())
    assert set(asked) <= set(jobs["deploy"]["env"])
