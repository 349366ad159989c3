"""A key with namespaces may send events only about runs and datasets in these namespaces.

See docs/explanation/security.md.
"""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.auth.access import Key
from headwater.auth.authentication import Authenticator
from headwater.intake.event_log.sqlite_log import LogLimits, SqliteLog
from headwater.intake.receiver import Request
from headwater.intake.receiver.post_handling import Receiver
from tests.support.data.parsing import World
from tests.support.data.samples import run_event

V7 = "01a1fdb4-606f-7ed7-8ccf-b1cbfed17566"
V4 = "4a71fdb4-606f-4ed7-8ccf-b1cbfed17566"

KEYS = [
    {"name": "all", "key": "key-of-all", "namespaces": []},
    {"name": "dev", "key": "key-of-dev", "namespaces": ["dev"]},
    {"name": "prod", "key": "key-of-prod", "namespaces": ["prod"]},
    {"name": "lake", "key": "key-of-lake", "namespaces": ["dev"], "datasets": ["s3://dev", "hive"]},
    {"name": "any", "key": "key-of-any", "namespaces": ["dev"], "datasets": ["*"]},
]


def sent(run: str, namespace: str, kind: str, *outputs: dict[str, Any], minute: int = 0) -> dict[str, Any]:
    job = {"namespace": namespace, "name": "j"}
    return run_event(run, eventType=kind, eventTime=f"2026-03-01T12:{minute:02}:00Z", job=job, outputs=list(outputs))


def output(namespace: str, **facets: Any) -> dict[str, Any]:
    return {"namespace": namespace, "name": "t", "facets": facets}


def lifecycle(change: str, previous: str | None = None) -> dict[str, Any]:
    named = {"previousIdentifier": {"namespace": previous, "name": "t"}} if previous else {}
    return {"lifecycleStateChange": change, **named}


def post(world: World, *events: tuple[str, dict[str, Any]]) -> None:
    async def all_of_them() -> list[int]:
        log = SqliteLog(world.log, LogLimits(min_free_bytes=0))
        receiver = Receiver(log, Authenticator([Key.model_validate(key) for key in KEYS]))
        try:
            return [
                (await receiver.receive_event(Request("POST", _headers(key), "", json.dumps(event).encode()))).status
                for key, event in events
            ]
        finally:
            await log.aclose()

    assert set(asyncio.run(all_of_them())) <= {200}


def _headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer key-of-{key}", "content-type": "application/json"}


def parse(world: World, limit: int = 1000) -> None:
    parser = world.parser()
    while parser.commit_next(limit):
        pass


def outcome(world: World) -> tuple[Sequence[int], dict[int, str]]:
    assert world.audit()["balanced"]
    return world.sequences("events"), world.reasons()


@pytest.mark.parametrize("limit", [1, 1000])
@pytest.mark.parametrize("run", [V7, V4])
def test_a_run_belongs_to_the_namespace_that_began_it(tmp_path: Path, run: str, limit: int) -> None:
    world = World(tmp_path)
    post(
        world,
        ("prod", sent(run, "prod", "START")),
        ("dev", sent(run, "dev", "FAIL", minute=5)),
        ("dev", sent(run.upper(), "dev", "ABORT", minute=6)),
        ("dev", sent(run, "dev", "START", minute=-0)),
        ("prod", sent(run, "prod", "COMPLETE", minute=7)),
        ("all", sent(run, "dev", "OTHER", minute=8)),
    )
    parse(world, limit)
    assert outcome(world) == ([1, 5, 6], dict.fromkeys((2, 3, 4), "scope"))


def test_a_run_is_its_namespaces_also_for_a_parser_that_begins_later(tmp_path: Path) -> None:
    world = World(tmp_path)
    post(world, ("all", sent(V4, "prod", "START")), ("prod", sent(V7, "prod", "START")))
    parse(world)
    post(world, ("dev", sent(V4, "dev", "FAIL")), ("dev", sent(V7, "dev", "FAIL")), ("prod", sent(V4, "prod", "FAIL")))
    parse(world)
    assert outcome(world) == ([1, 2, 5], {3: "scope", 4: "scope"})


def test_ids_that_are_no_uuid_are_each_jobs_own(tmp_path: Path) -> None:
    world = World(tmp_path)
    post(world, ("prod", sent("nightly", "prod", "START")), ("dev", sent("nightly", "dev", "FAIL")))
    parse(world)
    assert outcome(world) == ([1, 2], {})


@pytest.mark.parametrize(
    ("key", "said", "is_taken"),
    [
        ("dev", output("prod", lifecycleStateChange=lifecycle("DROP")), False),
        ("dev", output("prod", lifecycleStateChange=lifecycle("drop")), False),
        ("dev", output("prod", lifecycleStateChange=lifecycle("TRUNCATE")), False),
        ("dev", output("dev", lifecycleStateChange=lifecycle("RENAME", previous="prod")), False),
        ("dev", output("prod", tags={"tags": []}), True),
        ("lake", output("prod", tags={"tags": []}), False),
        ("lake", output("prod", tags={"_deleted": True}), False),
        ("dev", output("dev", lifecycleStateChange=lifecycle("DROP")), True),
        ("dev", output("prod", lifecycleStateChange=lifecycle("OVERWRITE")), True),
        ("dev", output("prod", symlinks={"identifiers": [{"namespace": "hive", "name": "t", "type": "TABLE"}]}), True),
        ("all", output("prod", lifecycleStateChange=lifecycle("DROP")), True),
        ("any", output("prod", lifecycleStateChange=lifecycle("DROP")), True),
        ("lake", output("s3://dev", lifecycleStateChange=lifecycle("DROP")), True),
        ("lake", output("dev", lifecycleStateChange=lifecycle("DROP")), False),
        ("lake", output("s3://dev", symlinks={"identifiers": [{"namespace": "hive", "name": "t", "type": "T"}]}), True),
        (
            "lake",
            output("s3://dev", symlinks={"identifiers": [{"namespace": "prod", "name": "t", "type": "T"}]}),
            False,
        ),
    ],
)
def test_the_life_of_a_dataset_is_its_owners(tmp_path: Path, key: str, said: dict[str, Any], *, is_taken: bool) -> None:
    world = World(tmp_path)
    post(world, (key, sent(V7, "dev", "COMPLETE", said)))
    parse(world)
    assert outcome(world) == (([1], {}) if is_taken else ([], {1: "scope"}))


def test_what_oversteps_begins_no_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    drop = output("prod", lifecycleStateChange=lifecycle("DROP"))
    post(world, ("dev", sent(V7, "dev", "START", drop)), ("prod", sent(V7, "prod", "START")))
    parse(world)
    assert outcome(world) == ([2], {1: "scope"})


@pytest.mark.slow
def test_a_parser_killed_between_its_commits_decides_the_same(tmp_path: Path) -> None:
    world = World(tmp_path)
    post(world, ("prod", sent(V7, "prod", "START")), ("dev", sent(V7, "dev", "FAIL")), ("all", sent(V4, "dev", "FAIL")))
    world.step_elsewhere({**os.environ, "HEADWATER_FAILPOINT": "parser.after_rejected"}).wait()
    assert world.count("rejected") == 1
    assert world.count("events") == 0
    parse(world)
    assert outcome(world) == ([1, 3], {2: "scope"})
