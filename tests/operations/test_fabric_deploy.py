"""Deploy to a Fabric workspace with one command, against a stand-in that checks each request against Microsoft's
description.
"""

import base64
import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from headwater.common.errors import HeadwaterError, Retry, WrongSetting
from headwater.operations.fabric.client import FabricClient
from headwater.operations.fabric.deployment import WorkspacePlan, deployment_steps
from headwater.operations.fabric.shortcuts import Shortcut, ShortcutPlace
from headwater.operations.fabric.steps import StepResult, check_steps, connection_body, deploy_steps, schedule_body
from tests.support.commands import commanded
from tests.support.notebooks import FOLDER
from tests.support.servers.azurite import KEY, Storage
from tests.support.servers.fabric import TOKEN, FabricServer, refusal, running_fabric
from tests.support.servers.fabric_judge import problems, route_of

pytestmark = pytest.mark.slow

LAKE = ShortcutPlace("https://lakes.dfs.core.windows.net", "/container/lake")
VALUES = {
    "HEADWATER_RECEIVER_URL": "https://receiver.example",
    "HEADWATER_READER_URL": "https://reader.example",
    "HEADWATER_KEY_VAULT": "https://vault.example/",
    "HEADWATER_WRITE_KEY": "hw_very-secret-key",
}
# capacity, identity, connection, lakehouse, shortcuts, environment, nine notebooks, pipeline, schedule, permission
ALL = 18


@pytest.fixture
def fabric() -> Iterator[FabricServer]:
    with running_fabric() as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output of `make fabric`, with a placeholder for the wheel."""
    made = tmp_path_factory.mktemp("made") / "fabric"
    shutil.copytree(FOLDER, made)
    wheel = made / "Headwater.Environment" / "Libraries" / "CustomLibraries" / "headwater-1-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"\x00\xff wheel https://RECEIVER_HOST")
    return made


def wanted(fabric: FabricServer, folder: Path, minutes: int = 60, **values: str) -> WorkspacePlan:
    shortcuts = [
        Shortcut("Tables", f"gold_{n}", LAKE.location, f"{LAKE.subpath}/gold/{values.get('gold', 'g1')}/{n}")
        for n in range(5)
    ]
    given = {key: values.get(key, value) for key, value in VALUES.items()}
    addresses = (fabric.url, f"{fabric.url}/onelake")
    return WorkspacePlan(fabric.id, folder, LAKE, shortcuts, None, "headwater lake", given, minutes, *addresses)


def deployed(fabric: FabricServer, plan: WorkspacePlan, patience_s: float = 600) -> list[StepResult]:
    client = FabricClient(fabric.url, lambda _: TOKEN, patience_s)
    try:
        return list(deploy_steps(deployment_steps(client, plan)))
    finally:
        client.close()


def looked(fabric: FabricServer, plan: WorkspacePlan) -> dict[str, str]:
    client = FabricClient(fabric.url, lambda _: TOKEN)
    found = {each.what: each.state for each in check_steps(deployment_steps(client, plan))}
    client.close()
    return found


def part(fabric: FabricServer, name: str, path: str) -> str:
    (item,) = (each["id"] for each in fabric.items.values() if f"{each['displayName']}.{each['type']}" == name)
    (found,) = (each["payload"] for each in fabric.parts[item] if each["path"] == path)
    return base64.b64decode(found).decode("latin-1")


def ids(fabric: FabricServer) -> dict[str, str]:
    return {f"{each['displayName']}.{each['type']}": each["id"] for each in fabric.items.values()}


def test_a_workspace_gets_all_of_it_and_the_second_run_changes_nothing(fabric: FabricServer, folder: Path) -> None:
    plan = wanted(fabric, folder)
    first = deployed(fabric, plan)
    assert [each.state for each in first] == ["unchanged", *["made"] * (ALL - 2), "unchanged"]
    assert sorted(ids(fabric)) == sorted(path.parent.name for path in FOLDER.glob("*/.platform"))
    count = len(fabric.changed)
    assert {each.state for each in deployed(fabric, plan)} == {"unchanged"}
    assert len(fabric.changed) == count
    assert set(looked(fabric, plan).values()) == {"there"}
    assert len(fabric.published) == 1


def test_items_are_bound_to_what_was_made_before_them(fabric: FabricServer, folder: Path) -> None:
    deployed(fabric, wanted(fabric, folder))
    found = ids(fabric)
    refresh = part(fabric, "Refresh.Notebook", "notebook-content.py")
    meta = json.loads(_first_metadata(refresh))
    assert meta["dependencies"]["lakehouse"]["default_lakehouse"] == found["Lineage.Lakehouse"]
    assert meta["dependencies"]["lakehouse"]["default_lakehouse_workspace_id"] == fabric.id
    assert meta["dependencies"]["environment"] == {
        "environmentId": found["Headwater.Environment"], "workspaceId": fabric.id
    }  # fmt: skip
    pipeline = json.loads(part(fabric, "Refresh.DataPipeline", "pipeline-content.json"))
    (activity,) = pipeline["properties"]["activities"]
    assert activity["typeProperties"] == {"notebookId": found["Refresh.Notebook"], "workspaceId": fabric.id}
    compute = yaml.safe_load(part(fabric, "Headwater.Environment", "Setting/Sparkcompute.yml"))
    assert compute["spark_conf"]["spark.openlineage.transport.auth.apiKey"] == VALUES["HEADWATER_WRITE_KEY"]
    assert compute["spark_conf"]["spark.openlineage.namespace"] == "fabric/Sales _EU__ _1"
    wheel = part(fabric, "Headwater.Environment", "Libraries/CustomLibraries/headwater-1-py3-none-any.whl")
    assert wheel == "\x00ÿ wheel https://RECEIVER_HOST"
    (connection,) = fabric.connections
    assert {each["target"]["adlsGen2"]["connectionId"] for each in fabric.shortcuts[found["Lineage.Lakehouse"]]} == {
        connection["id"]
    }
    everything = "".join(
        base64.b64decode(each["payload"]).decode("latin-1") for parts in fabric.parts.values() for each in parts
    )
    assert not [text for text in ("00000000-0000", "READER_HOST", "KEY_VAULT", "WORKSPACE_NAME") if text in everything]


def _first_metadata(source: str) -> str:
    lines = source.split("# METADATA ********************\n\n")[1].split("\n\n", maxsplit=1)[0].split("\n")
    return "\n".join(line.removeprefix("# META ") for line in lines)


def test_what_has_changed_is_put_and_nothing_else(fabric: FabricServer, folder: Path, tmp_path: Path) -> None:
    deployed(fabric, wanted(fabric, folder))
    newer = tmp_path / "newer"
    shutil.copytree(folder, newer)
    (newer / "Unused.Notebook" / "notebook-content.py").write_text("# Fabric notebook source\n\nprint(1)\n")
    plan = wanted(fabric, newer, minutes=15, gold="g2", HEADWATER_WRITE_KEY="hw_another")
    differ = {"5 shortcuts", "Headwater.Environment", "Unused.Notebook", "schedule, every 15 min"}
    assert {what for what, state in looked(fabric, plan).items() if state != "there"} == differ
    count = len(fabric.changed)
    assert {each.what for each in deployed(fabric, plan) if each.state == "changed"} == differ
    # shortcuts; put, publish and mark the environment; put and mark the notebook; schedule
    assert len(fabric.changed) - count == 5 + 3 + 2 + 1
    (schedule,) = fabric.schedules
    assert schedule["configuration"]["interval"] == 15
    assert {each.state for each in deployed(fabric, plan)} == {"unchanged"}


@pytest.mark.parametrize("is_done", [False, True])
def test_a_deployment_that_was_cut_off_anywhere_is_gone_on_with(
    fabric: FabricServer, folder: Path, is_done: bool
) -> None:
    """Each kind of change request fails once, either before or after Fabric has executed it."""
    plan, kinds = wanted(fabric, folder), set[str]()

    def is_first(method: str, path: str) -> bool:
        kind = method + re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "", path)
        is_new = method != "GET" and kind not in kinds
        kinds.update([kind] * is_new)
        return is_new

    lost = refusal(500, "UnknownError", "Try again.")
    if is_done:
        fabric.spoil = lambda method, path, answer: lost if is_first(method, path) else answer
    else:
        fabric.refuse = lambda method, path, _: lost if is_first(method, path) else None
    runs = 1
    while not was_deployed(fabric, plan):
        runs += 1
    assert runs - 1 == len(kinds) >= 7
    assert {each.state for each in deployed(fabric, plan)} == {"unchanged"}
    assert len(fabric.items) == len(ids(fabric)) == ALL - 6
    assert (len(fabric.connections), len(fabric.schedules)) == (1, 1)


def was_deployed(fabric: FabricServer, plan: WorkspacePlan) -> bool:
    try:
        deployed(fabric, plan)
    except Retry:
        return False
    return True


def test_an_environment_that_was_uploaded_and_not_published_is_published(fabric: FabricServer, folder: Path) -> None:
    plan = wanted(fabric, folder)
    deployed(fabric, plan)
    newer = wanted(fabric, folder, HEADWATER_WRITE_KEY="hw_another")
    fabric.refuse = lambda _, path, __: refusal(500, "X", "Y") if path.endswith("/publish") else None
    with pytest.raises(Retry):
        deployed(fabric, newer)
    fabric.refuse = lambda *_: None
    assert looked(fabric, newer)["Headwater.Environment"] == "differs"
    fabric.publishing[:] = ["Waiting", "Running", "Failed"]
    with pytest.raises(Retry, match="ended with 'Failed'"):
        deployed(fabric, newer)
    fabric.publishing[:] = ["Running", "Success"]
    assert [each.what for each in deployed(fabric, newer) if each.state == "changed"] == ["Headwater.Environment"]
    assert len(fabric.published) == 3


def test_two_at_once_make_one_workspace(fabric: FabricServer, folder: Path) -> None:
    plan, errors = wanted(fabric, folder), []
    begin = threading.Barrier(2)

    def one() -> None:
        begin.wait()
        try:
            deployed(fabric, plan)
        except HeadwaterError as error:
            errors.append(error)

    both = [threading.Thread(target=one) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert not errors
    assert len(fabric.items) == len(ids(fabric)) == ALL - 6
    assert (len(fabric.connections), len(fabric.schedules)) == (1, 1)
    assert set(looked(fabric, plan).values()) == {"there"}


@pytest.mark.parametrize("other", ["00000000", "ffffffff"])
def test_a_schedule_that_somebody_else_made_meanwhile_stays_alone(
    fabric: FabricServer, folder: Path, other: str
) -> None:
    """Of two equal schedules, the one with the smaller id is kept.

    Schedules that users changed or disabled are not touched.
    """
    theirs = [{"id": "0", **schedule_body(7)}, {"id": "1", **schedule_body(60), "enabled": False}]

    def meanwhile(method: str, path: str, _: int) -> None:
        if method == "POST" and path.endswith("/schedules"):
            fabric.schedules += [{"id": other, **schedule_body(60)}, *theirs]

    plan = wanted(fabric, folder)
    fabric.refuse = meanwhile
    deployed(fabric, plan)
    assert len([each for each in fabric.schedules if each not in theirs]) == 1
    assert [each for each in fabric.schedules if each in theirs] == theirs
    assert {each.state for each in deployed(fabric, plan)} == {"unchanged"}


def test_schedules_too_many_are_said_and_taken_back(fabric: FabricServer, folder: Path) -> None:
    plan = wanted(fabric, folder)
    deployed(fabric, plan)
    fabric.schedules += [{"id": f"f{n}", **schedule_body(60)} for n in range(4)]
    assert [what for what, state in looked(fabric, plan).items() if state != "there"] == ["schedule, every 60 min"]
    assert len(fabric.schedules) == 5
    (last,) = (each for each in deployed(fabric, plan) if "schedule" in each.what)
    assert (last.state, len(fabric.schedules)) == ("changed", 1)


def test_check_proves_that_silver_and_gold_can_be_written_through_the_shortcut(
    fabric: FabricServer, folder: Path
) -> None:
    plan = wanted(fabric, folder)
    assert looked(fabric, plan)["right to write silver and gold"] == "missing"
    deployed(fabric, plan)
    fabric.written.clear()
    assert looked(fabric, plan)["right to write silver and gold"] == "there"
    assert (fabric.written, fabric.files) == (["PUT silver", "DELETE silver", "PUT gold", "DELETE gold"], set())
    fabric.writable.remove("gold")
    assert looked(fabric, plan)["right to write silver and gold"] == "blocked"
    with pytest.raises(WrongSetting, match="cannot write gold: give it the ACL rwx"):
        deployed(fabric, plan)


def test_throttling_is_waited_for_and_ends(fabric: FabricServer, folder: Path) -> None:
    throttled = refusal(429, "RequestBlocked", "Slow down.", retry_after="0")
    fabric.refuse = lambda _, __, count: throttled if count % 3 == 0 else None
    assert len(deployed(fabric, wanted(fabric, folder))) == ALL
    fabric.refuse = lambda *_: refusal(429, "RequestBlocked", "Slow down.", retry_after="3000")
    with pytest.raises(Retry, match="again in 3000 seconds"):
        deployed(fabric, wanted(fabric, folder), patience_s=1)


def test_what_fails_after_it_was_accepted_is_said(fabric: FabricServer, folder: Path) -> None:
    fabric.refuse = lambda method, path, _: fabric.fail_later() if (method, path[-6:]) == ("POST", "/items") else None
    with pytest.raises(WrongSetting, match=r"failed in Fabric \(InvalidDefinition: A part of it is wrong\)"):
        deployed(fabric, wanted(fabric, folder))


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        (403, "InsufficientPrivileges", "Contributor of the workspace"),
        (404, "CapacityNotActive", "Resume the workspace's capacity"),
        (503, "CapacityNotActive", "Resume the workspace's capacity"),
        (403, "FeatureNotAvailable", "tenant setting"),
        (400, "PrincipalTypeNotSupported", "Run it as a person"),
    ],
)
def test_a_refusal_names_the_role_or_the_setting(
    fabric: FabricServer, folder: Path, status: int, code: str, says: str
) -> None:
    fabric.refuse = lambda method, _, __: refusal(status, code, "No.") if method == "POST" else None
    with pytest.raises(WrongSetting, match=says) as caught:
        deployed(fabric, wanted(fabric, folder))
    assert TOKEN not in str(caught.value)


def test_a_capacity_that_is_paused_or_not_there_stops_it_before_anything_is_made(
    fabric: FabricServer, folder: Path
) -> None:
    fabric.capacity["state"] = "Inactive"
    assert looked(fabric, wanted(fabric, folder))["capacity"] == "blocked"
    with pytest.raises(WrongSetting, match="paused: resume it"):
        deployed(fabric, wanted(fabric, folder))
    del fabric.workspace["capacityId"]
    with pytest.raises(WrongSetting, match="assign the workspace to a Fabric capacity"):
        deployed(fabric, wanted(fabric, folder))
    assert not fabric.changed


def test_a_connection_of_our_name_to_another_account_is_left_alone(fabric: FabricServer, folder: Path) -> None:
    deployed(fabric, wanted(fabric, folder))
    fabric.connections[0]["connectionDetails"]["path"] = "https://lakes.dfs.core.windows.net.evil.example/container"
    with pytest.raises(WrongSetting, match="choose another name with --connection-name"):
        deployed(fabric, wanted(fabric, folder))


def test_a_schedule_that_somebody_switched_off_stays_off(fabric: FabricServer, folder: Path) -> None:
    deployed(fabric, wanted(fabric, folder))
    fabric.schedules[0]["enabled"] = False
    (last,) = (each for each in deployed(fabric, wanted(fabric, folder)) if "schedule" in each.what)
    assert (last.state, fabric.schedules[0]["enabled"]) == ("unchanged", False)


def test_values_that_would_be_code_and_folders_without_items_are_refused(
    fabric: FabricServer, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(WrongSetting, match="HEADWATER_WRITE_KEY is empty, or contains a space"):
        deployed(fabric, wanted(fabric, folder, HEADWATER_WRITE_KEY="key'\n  spark.evil: 1"))
    for wrong in (tmp_path, FOLDER):
        with pytest.raises(WrongSetting, match="make fabric"):
            deployed(fabric, wanted(fabric, wrong))


def test_the_judge_knows_what_fabric_does_not() -> None:
    """The wrong requests are: misspelled, missing and mistyped members, an unknown enumeration value, a
    path, a query.
    """
    good = connection_body("n", LAKE)
    assert not problems(good, "CreateConnectionRequest")
    left_out = {key: value for key, value in good.items() if key != "connectionDetails"}
    for wrong in (
        good | {"privacyLevl": "Public"}, good | {"privacyLevel": "Secret"}, good | {"displayName": 1}, left_out,
        good | {"credentialDetails": {"credentials": {"credentialType": "Password"}}},
    ):  # fmt: skip
        assert len(problems(wrong, "CreateConnectionRequest")) == 1, wrong
    assert route_of("GET", "/v1/connections", {"continuationToken": "x"})
    for path, query in (("/v1/conections", {}), ("/v1/connections", {"name": "x"})):
        with pytest.raises(AssertionError, match="has no"):
            route_of("GET", path, query)


def test_the_command_deploys_and_checks(fabric: FabricServer, folder: Path, storage: Storage, tmp_path: Path) -> None:
    lake = storage.lake(account_key=KEY)
    environment = {
        "IDENTITY_ENDPOINT": f"{fabric.url}/token", "IDENTITY_HEADER": "header", "HEADWATER_WRITE_KEY": "hw_key",
        "HEADWATER_LAKE": lake["lake"], "HEADWATER_LAKE_OPTIONS": json.dumps(lake["lake_options"]),
    }  # fmt: skip
    options = [
        "--workspace", fabric.id, "--receiver", "https://receiver.example", "--reader", "https://reader.example",
        "--key-vault", "https://vault.example/", "--items", str(folder), "--api", fabric.url,
        "--onelake", f"{fabric.url}/onelake",
        "--data", str(tmp_path / "data"),
    ]  # fmt: skip
    missing = commanded("fabric", "check", *options, "--json", environment=environment)
    assert (missing.returncode, fabric.changed) == (1, [])
    assert {each["state"] for each in json.loads(missing.stdout)["items"]} == {"there", "missing"}
    first = commanded("fabric", "deploy", *options, environment=environment)
    assert (first.returncode, "Headwater.Environment: made" in first.stderr) == (0, True), first.stderr
    second = commanded("fabric", "deploy", *options, environment=environment)
    assert (second.returncode, second.stdout.splitlines()[-1]) == (0, "The workspace is up to date.")
    assert commanded("fabric", "check", *options, environment=environment).returncode == 0
    assert "hw_key" not in first.stdout + first.stderr + second.stdout + second.stderr
