"""The ways to deploy: azure.yaml and the workflows refer to existing files, and contain no passwords."""

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
from tests.functions.host import running
from tests.infra.templates import APPS, BICEP, MAIN, PARAMETERS, ROOT, SINKS, body, resources, template
from tests.infra.templates import app_settings as templates_app_settings
from tests.infra.templates import names as template_names
from tools.function_zip import PACKAGE, RECEIVER, receiver_shipped, shipped

WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = WORKFLOWS / "deploy.yml"
TESTS = WORKFLOWS / "test.yml"


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    return found


@pytest.fixture(scope="module")
def tests() -> dict[str, Any]:
    """Return the job that a pull request and a deployment must pass."""
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
    assert services == [*APPS, SINKS], "azd deploys the services that always exist"


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


@pytest.fixture(scope="module")
def azd_services(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run azd's hook on a copy of the sources, and return the folder that azd packs for each service.

    The dashboard is a stand-in because its build takes long. Each folder contains a file of an older release.
    """
    root = tmp_path_factory.mktemp("sources")
    for folder in ("functions", "headwater", "tools"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "assets"))
    for path in (ROOT / name for name in ("function_app.py", "host.json", "LICENSE", "azure.yaml")):
        shutil.copy(path, root)
    for path in [ROOT / "requirements.txt", *ROOT.glob(".funcignore")]:
        shutil.copy(path, root)
    shutil.copytree(ROOT / "locks", root / "locks")
    (root / "headwater" / "api" / "web" / "assets").mkdir()
    (root / "Makefile").write_text("web:\n\techo page > headwater/api/web/assets/index.html\n")
    azure = yaml.safe_load((root / "azure.yaml").read_text())
    folders = {name: root / service["project"] for name, service in azure["services"].items()}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "removed_since.py").touch()
    hook = azure["hooks"]["prepackage"]["posix"]["run"]
    subprocess.run(["sh", "-c", hook], cwd=root, check=True, capture_output=True)
    return folders


@pytest.mark.slow
def test_azd_packs_for_each_service_what_it_imports(azd_services: dict[str, Path]) -> None:
    """Without an ignore file, azd packs all but `__pycache__` and environments (azd's createDeployableZip)."""
    packed = {
        name: sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        for name, folder in azd_services.items()
    }
    pages = re.compile("headwater/api/web/assets/(?!index.html)")
    whole = [name for name in shipped() if not pages.match(name)]
    assert packed == {"receiver": receiver_shipped(), "pipeline": whole}
    for app, file in (("receiver", "locks/receiver.txt"), ("pipeline", "requirements.txt")):
        assert (azd_services[app] / "requirements.txt").read_bytes() == (ROOT / file).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("app", "role", "functions"),
    [
        ("receiver", "write", {"lineage", "lineage_batch", "live", "ready"}),
        ("pipeline", "read", {"parser", "api", "catch_up", "snapshot", "compact", "vacuum"}),
    ],
)
def test_every_function_of_what_azd_deploys_imports_without_an_editable_install(
    app: str, role: str, functions: set[str], azd_services: dict[str, Path], tmp_path: Path
) -> None:
    triggers = json.loads(str(templates_app_settings(app)["HEADWATER_TRIGGERS"]).strip("'"))
    given = {
        "triggers": triggers, "log": "event_hub", "hub_namespace": "n.servicebus.windows.net",
        "hub_name": "openlineage",
        "claims_url": "https://a.blob.core.windows.net/claims",
        "lake": "abfss://lake@a.dfs.core.windows.net",
        "keys": [{"name": "any", "key": "at-least-8-characters", "roles": [role]}],
    }  # fmt: skip
    with running(azd_services[app], tmp_path / "worker.log", **given) as started:
        assert functions <= set(started.functions), started.index


@pytest.mark.parametrize("command", ["prepackage", "predeploy", "preprovision"])
def test_azds_hooks_are_the_same_on_posix_and_windows(command: str) -> None:
    hook = yaml.safe_load((ROOT / "azure.yaml").read_text())["hooks"][command]
    posix, windows = hook["posix"], hook["windows"]
    assert (posix["shell"], windows["shell"]) == ("sh", "pwsh")
    assert posix["run"].removeprefix("python3 ") == windows["run"].removeprefix("python ")


def test_a_pull_request_is_tested_on_both_pythons_with_all_that_tests_need(tests: dict[str, Any]) -> None:
    """Without the app's Python version, the tests in Azure's worker would be skipped."""
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
    login = next(step for step in jobs["deploy"]["steps"] if step.get("uses", "").endswith("/azure-login"))
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
    assert set(re.findall(r"jq -r \.(\w+)\.value", text)) <= set(template(MAIN)["outputs"])


@pytest.mark.parametrize(
    ("kept", "exported", "said"),
    [
        ("AZURE_LOCATION=westeurope\n", {"RECEIVER_KEYS": "[]", "PIPELINE_KEYS": "[]"}, ""),
        ('RECEIVER_KEYS="[]"\n', {"RECEIVER_KEYS": "[]", "PIPELINE_KEYS": "[]"}, "contains keys: RECEIVER_KEYS"),
        ("", {"RECEIVER_KEYS": "[]"}, "PIPELINE_KEYS is not set"),
        ("", {"RECEIVER_KEYS": "a-bare-key", "PIPELINE_KEYS": "[]"}, "RECEIVER_KEYS is not a JSON list"),
    ],
)
def test_keys_stay_out_of_azds_file(kept: str, exported: dict[str, str], said: str, tmp_path: Path) -> None:
    hook = yaml.safe_load((ROOT / "azure.yaml").read_text())["hooks"]["preprovision"]["posix"]["run"]
    (tmp_path / ".azure" / "test").mkdir(parents=True)
    (tmp_path / ".azure" / "test" / ".env").write_text(kept)
    environment = {"PATH": os.environ["PATH"], "AZURE_ENV_NAME": "test", "PYTHONPATH": str(ROOT), **exported}
    done = subprocess.run(
        ["sh", "-c", hook], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
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
    assert values["HEADWATER_HUB"] == values["HEADWATER_HUB_CONNECTION"], "the host and Headwater must use the same hub"
    assert f'KEY = "{json.loads(values["HEADWATER_KEYS"])[0]["key"]}"' in (folder / "post.py").read_text()
    job = yaml.safe_load((WORKFLOWS / "azure.yml").read_text())["jobs"]["functions-host"]
    assert all((ROOT / path).exists() for path in re.findall(r"\.github/functions-host/[\w.]+", steps(job)))


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_workflow_gives_the_variables_that_a_tier_reads(name: str, jobs: dict[str, Any]) -> None:
    asked = re.findall(r"readEnvironmentVariable\('(\w+)'\)", (BICEP / name).read_text())
    assert set(asked) <= set(jobs["deploy"]["env"])


def test_the_page_registers_every_provider_that_the_templates_use() -> None:
    """Microsoft.App has no resource here, but Flex Consumption delegates the apps' subnet to it."""
    used = {
        found["type"].partition("/")[0] for file in template_names() for found in template(file)["resources"].values()
    }
    delegated = set(re.findall(r"'(Microsoft\.App)/environments'", (BICEP / "modules/network.bicep").read_text()))
    (line,) = re.findall(r"for provider in (.*?); do", (ROOT / "docs/how-to/platform-operator/azure.md").read_text())
    assert delegated == {"Microsoft.App"}
    assert {f"Microsoft.{name}" for name in line.split()} == used | delegated
