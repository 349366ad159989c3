"""The lake on Azure storage: each event is stored exactly once whatever the storage does, with one-line errors.

The proxy in front of Azurite runs in this process. If delta-rs kept the interpreter's lock while it waits, which would
block all requests in `serve`, it would run into its timeout here.
"""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.lake.maintenance import compact_tables, vacuum_tables
from headwater.operations.runtime.storage import open_bronze
from headwater.operations.settings import load_settings
from tests.support.commands import commanded
from tests.support.data.parsing import World, event
from tests.support.faults.racing_writers import race
from tests.support.running import Running
from tests.support.servers.azurite import ACCOUNT_KEY, FAULTS, KEY, PATIENT, Storage, one_line
from tests.support.waiting import rest

pytestmark = pytest.mark.slow

WRITERS = 4
COMMITS = 6


def test_the_parser_fills_a_lake_on_azure_storage_and_maintenance_keeps_it(storage: Storage, tmp_path: Path) -> None:
    world = World(tmp_path, **storage.lake(account_key=KEY))
    world.append(event(1), event(2, ("x",)), event(1), b"{}")
    parser = world.parser()
    parser.commit_next()
    world.append(event(3), event(2, ("x",)))
    parser.commit_next()
    compact_tables(world.bronze)
    vacuum_tables(world.bronze, hours=24)
    again = World(tmp_path, **{name: getattr(world.settings, name) for name in ("lake", "lake_options")})
    again.append(event(4), event(3))
    again.parser().commit_next()
    assert world.sequences("events") == [1, 2, 5, 7]
    assert world.sequences("duplicates") == [3, 6, 8]
    assert world.placed() == list(range(1, 9))
    assert world.audit()["balanced"]
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("where", ["", "PUT"], ids=["every request", "every write"])
def test_no_fault_of_the_storage_loses_or_doubles_anything(storage: Storage, tmp_path: Path, where: str) -> None:
    world = World(tmp_path, **storage.lake(account_key=KEY))
    world.append(event("first"))
    parser = world.parser()
    parser.commit_next()
    for done, (kind, words) in enumerate(FAULTS.items()):
        world.append(event(kind, (kind,)), event("first"), b"[]")
        with storage.failing(kind, where) as fault:
            with pytest.raises(LakeUnavailable) as caught:
                parser.commit_next()
            fault.wait_met()
        one_line(caught.value, words)
        assert parser.commit_next() == 3, kind
        assert world.placed() == list(range(1, 3 * done + 5)), kind
    assert world.sequences("events") == [1, *range(2, 3 * len(FAULTS) + 2, 3)]
    assert world.sequences("duplicates") == list(range(3, 3 * len(FAULTS) + 2, 3))
    assert world.audit()["balanced"]


@pytest.mark.parametrize(
    ("place", "options", "words"),
    [
        (None, {"account_key": KEY, "endpoint": "http://nosuchaccount.invalid"}, ["cannot be resolved", "`lake`"]),
        (None, {"account_key": "d3Jvbmc="}, ["(403)", "credentials"]),
        ("there-is-none", {"account_key": KEY}, ["the container does not exist (404)", "Create it"]),
    ],
    ids=["wrong account", "wrong key", "no container"],
)
def test_a_lake_that_is_not_there_or_not_ours_is_tried_again_and_named(
    storage: Storage, tmp_path: Path, place: str | None, options: dict[str, str], words: list[str]
) -> None:
    world = World(tmp_path, **storage.lake(place, **options))
    world.append(event(1))
    with pytest.raises(LakeUnavailable) as caught:
        world.parser()
    one_line(caught.value, *words)


def test_a_managed_identity_of_azure_functions_opens_the_lake(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in storage.identity_environment().items():
        monkeypatch.setenv(name, value)
    world = World(tmp_path, **storage.lake(), identity_client_id="the-client")
    world.append(event(1))
    parser = world.parser()
    parser.commit_next()
    asked = storage.identity_requests[-1]
    assert (asked["client_id"], asked["resource"]) == ("the-client", "https://storage.azure.com")
    storage.revoke_tokens()
    world.append(event(2))
    with pytest.raises(LakeUnavailable) as caught:
        parser.commit_next()
    one_line(caught.value, "the token has expired", "identity_client_id")
    parser.commit_next()
    assert world.bronze.events.run_query("SELECT sequence FROM t ORDER BY sequence").column("sequence").to_pylist() == [
        1,
        2,
    ]
    monkeypatch.setenv("IDENTITY_HEADER", "another")
    with pytest.raises(LakeUnavailable) as caught:
        open_bronze(world.settings).exists()
    one_line(caught.value, "the managed identity did not get a token", "identity_client_id", "az login")


@pytest.mark.parametrize("az", [None, "echo ERROR: AADSTS700082: expired >&2; exit 1"], ids=["none", "expired"])
def test_a_login_of_ones_own_that_is_not_there_is_said_with_what_to_do(
    az: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if az:
        (tmp_path / "az").write_text(f"#!/bin/sh\n{az}\n")
        (tmp_path / "az").chmod(0o755)
    given = {"lake": "abfss://lake@account.dfs.core.windows.net", "lake_options": {"use_azure_cli": "true"}}
    with pytest.raises(LakeUnavailable) as caught:
        open_bronze(load_settings(given, environment={})[0]).exists()
    one_line(caught.value, "`az` returns no token", "Run `az login`")


def test_four_processes_write_one_table_and_no_row_is_lost_or_there_twice(storage: Storage) -> None:
    lake = storage.lake(account_key=KEY, **PATIENT)
    found, wanted = race(lake["lake"], lake["lake_options"], WRITERS, COMMITS)
    assert found == wanted


def test_headwater_up_with_lake_and_claims_on_azure_storage(storage: Storage, tmp_path: Path) -> None:
    lake, claims = storage.lake(account_key=KEY, **PATIENT), storage.container().container_name
    environment = {
        "HEADWATER_LAKE": lake["lake"],
        "HEADWATER_LAKE_OPTIONS": json.dumps(lake["lake_options"]),
        "HEADWATER_CLAIMS_URL": f"{storage.url}/{claims}",
        "HEADWATER_CLAIMS_OPTIONS": json.dumps(ACCOUNT_KEY),
        "HEADWATER_CLAIM_BYTES": "1000",
        "HEADWATER_TICK_S": "0.2",
    }
    data = tmp_path / "data"
    with Running(data, environment=environment) as running:
        with httpx.Client(base_url=running.url, timeout=20) as client:

            def post(name: str, size: int = 0) -> int:
                body = event(name)[:-1] + b', "padding": "%b"}' % (b"x" * size)
                return client.post("/api/v1/lineage", content=body).status_code

            assert post("1") == 200
            while post("2", 5000) != 200:
                rest()  # repeat as producers do, because the storage may be slow on a busy machine
            assert post("1") == 200
            settled(client)
            with storage.failing("wrong role") as fault:
                assert [post("3"), post("4", 5000), post("5")] == [200, 503, 200]
                fault.wait_met(6)
                assert client.get("/health/ready").status_code == 200
            while post("6", 5000) != 200:
                rest()
            audit = settled(client)
            assert audit | {"stored": 5, "duplicates": 1, "rejected": 0, "balanced": True} == audit
            asked = {"namespace": "n", "dataset": "source", "column": "a"}
            while (found := client.get("/api/headwater/v1/impact", params=asked)).status_code != 200:
                rest()
            assert "target" in found.text
        assert commanded("audit", "--data", data, environment=environment).returncode == 0
        listed = commanded("events", "--json", "--data", data, environment=environment)
        assert {item["run_id"] for item in json.loads(listed.stdout)["items"]} == {"1", "2", "3", "5", "6"}
        shown = commanded("check", environment=environment)
    assert not any(KEY in text for text in (running.stderr, listed.stderr, shown.stdout, shown.stderr))
    said = [line for line in running.stderr.splitlines() if line.startswith("parser: Cannot use the Delta table")]
    assert said
    for line in said:
        one_line(OSError(line), "Cannot use the Delta table at abfss://", FAULTS["wrong role"])
    assert [path.name for path in data.iterdir() if path.name in ("lake", "claims")] == []


def settled(client: httpx.Client) -> dict[str, Any]:
    """Ask until there are no pending events. Returns the audit."""
    while True:
        asked = client.get("/api/headwater/v1/audit")
        if asked.status_code == 200 and not asked.json()["pending"]:
            return dict(asked.json())
        rest()


@pytest.mark.parametrize(
    "lake",
    [
        "az://lake",
        "abfss://lake@account/path",
        "https://account.blob.core.windows.net/lake",
        "abfss://l@a.dfs.core.windows.net/p?sig=s",
    ],
)
def test_an_address_that_is_no_lake_is_refused_at_the_start(lake: str) -> None:
    with pytest.raises(WrongSetting, match=r"abfss://CONTAINER@ACCOUNT\.dfs\.core\.windows\.net/PATH") as caught:
        load_settings({"lake": lake}, environment={})
    one_line(caught.value, "`lake_options`")


def test_storage_options_come_from_the_environment_and_are_never_shown(tmp_path: Path) -> None:
    environment = {"HEADWATER_LAKE_OPTIONS": json.dumps({"account_key": "very-secret"})}
    settings: Any = load_settings({}, folder=tmp_path, environment=environment)[0]
    assert settings.lake_options["account_key"].get_secret_value() == "very-secret"
    assert "very-secret" not in repr(settings) + settings.model_dump_json()
    with pytest.raises(WrongSetting, match="HEADWATER_LAKE_OPTIONS is not a JSON object"):
        load_settings({}, folder=tmp_path, environment={"HEADWATER_LAKE_OPTIONS": "very-secret"})
