"""Generated faults: no answer is wrong, no event is lost without a report, and errors name the cause."""

import itertools
import random
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import pytest

from headwater.common.errors import HeadwaterError
from tests.support.data.made_events import body, run_event
from tests.support.data.sink_world import SinkWorld, sink
from tests.support.faults.generated_faults import (
    INDEX_PLACES,
    LOG_PLACES,
    PLACES,
    SEED,
    Flip,
    answers,
    flips,
    followed,
    harm,
    harm_index,
    harm_log,
    index_in,
    indexed_answers,
    lake_in,
    log_in,
    parsed,
)
from tests.support.faults.power_cut import library_of
from tests.support.few_of_many import few_of
from tests.support.http_client import Gateway, running
from tests.support.lake_check import rows
from tests.support.servers.sink_target import Asked, Said, Slowness, eventually, sink_server

pytestmark = pytest.mark.slow

HEADERS = {"content-type": "application/json"}
MEMORY = 512 << 20
DAY_S = 86_400
PANICS = Flip("footer", 132245920, 2)
"""A flip that makes delta-rs panic while it reads a footer, found among 240 footers."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a data folder whose log is parsed."""
    folder = tmp_path_factory.mktemp("lake") / "data"
    lake_in(folder)
    return folder


@pytest.fixture(scope="module")
def right(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Provide the answers of the undamaged lake."""
    return dict(answers(shutil.copytree(lake, tmp_path_factory.mktemp("right") / "data")))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a data folder whose log is not parsed yet."""
    folder = tmp_path_factory.mktemp("log") / "data"
    log_in(folder)
    return folder


@pytest.fixture(scope="module")
def sent(log: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Provide the bodies that the log acknowledged."""
    stored, named = parsed(shutil.copytree(log, tmp_path_factory.mktemp("sent") / "data"))
    assert not named
    return stored


@pytest.mark.parametrize("flip", few_of([PANICS, *flips(PLACES, 240)], 9), ids=str)
def test_a_flipped_byte_of_the_lake_changes_no_answer_and_is_named(
    lake: Path, right: dict[str, Any], tmp_path: Path, flip: Flip
) -> None:
    folder = shutil.copytree(lake, tmp_path / "data")
    file = harm(folder, flip)
    found = dict(answers(folder))  # raises any error that is not a refusal
    refusals = [str(told) for told in found.values() if isinstance(told, HeadwaterError)]
    wrong = [each for each, told in found.items() if not isinstance(told, HeadwaterError) and told != right[each]]
    assert not wrong, file
    assert all(str(file) in each for each in refusals), (file, refusals)


@pytest.mark.parametrize("flip", few_of(flips(LOG_PLACES, 200), 10), ids=str)
def test_no_event_is_lost_unnamed_or_changed_by_a_flipped_byte_of_the_log(
    log: Path, sent: list[str], tmp_path: Path, flip: Flip
) -> None:
    folder = shutil.copytree(log, tmp_path / "data")
    file = harm_log(folder, flip)
    stored, named = parsed(folder)
    assert [each for each in stored if each not in sent] == [], file
    assert stored == sent or named, file


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Provide a data folder with an index, and the index's answers after each of its commits."""
    folder = tmp_path_factory.mktemp("index") / "data"
    return folder, index_in(folder)


@pytest.mark.parametrize("flip", few_of(flips(INDEX_PLACES, 200), 8), ids=str)
def test_a_flipped_byte_of_the_index_is_refused_or_mended_by_the_next_look(
    index: tuple[Path, list[dict[str, Any]]], tmp_path: Path, flip: Flip
) -> None:
    """If the `-wal` file is damaged, the index returns to an earlier state and catches up."""
    whole, states = index
    folder = shutil.copytree(whole, tmp_path / "data")
    file = harm_index(folder, flip)
    found = indexed_answers(folder)
    refusals = [str(told) for told in found.values() if isinstance(told, HeadwaterError)]
    assert all("index" in each for each in refusals), (file, refusals)
    known = [[state[each] for state in states] for each in found]
    wrong = [each for (each, told), right in zip(found.items(), known, strict=True) if told not in right]
    assert [each for each in wrong if not isinstance(found[each], HeadwaterError)] == [], file
    named = followed(folder)
    assert all("damaged" in each for each in named), named
    assert indexed_answers(folder) == states[-1], file


class Reluctance(NamedTuple):
    """A target that stops completing its answers after some complete ones. kind: type of the sink. slow:
    the slowness.
    """

    kind: str
    after: int
    slow: Slowness


def reluctances(count: int) -> list[Reluctance]:
    """Return generated reluctances that alternate between the kinds of sinks and of slowness."""
    rng = random.Random(SEED)
    found = []
    for each in range(count):
        kind = ("openlineage", "datahub")[each % 2]
        after = rng.randrange(3) if kind == "openlineage" else 0  # DataHub receives all events in one request
        slow = Slowness(rng.choice([0, rng.randrange(1, 60)]), is_silent=each // 2 % 2 > 0)
        found.append(Reluctance(kind, after, slow))
    return found


@pytest.mark.parametrize("reluctance", few_of(reluctances(40), 4), ids=str)
def test_a_sink_whose_target_never_ends_its_answer_names_it_and_delivers_later(
    tmp_path: Path, reluctance: Reluctance
) -> None:
    world, posts = SinkWorld(tmp_path), itertools.count()
    sent = [run_event(run={"runId": f"0195c000-0000-7000-9000-{each:012d}"}) for each in range(5)]
    with sink_server() as server:

        def answer(_: Asked) -> Said:
            is_slow = next(posts) >= reluctance.after and not server.awake.is_set()
            return Said(slow=reluctance.slow if is_slow else None)

        server.answer = answer
        more = {"batch": 1} if reluctance.kind == "openlineage" else {}
        with world.running(sink(type=reluctance.kind, url=server.url, timeout="500ms", **more)) as runner:
            eventually(lambda: runner.status.state == "caught up")
            world.store(*map(body, sent))
            eventually(lambda: runner.status.trouble)
            told = runner.status.trouble or ""
            assert server.url.removeprefix("http://") in told
            assert "timed out" in told
            assert runner.status.state in ("waiting", "open")
            assert runner.status.delivered < len(sent)
            server.awake.set()
            eventually(lambda: runner.status.state == "caught up" and runner.status.delivered == len(sent))
            assert runner.status.trouble is None
        assert world.dead() == {}
        if reluctance.kind == "openlineage":
            assert {each["run"]["runId"] for each in server.taken} == {each["run"]["runId"] for each in sent}


class Stress(NamedTuple):
    """A resource that a running Headwater lacks for a while.

    kind `files`: `amount` is the number of additional files that may be opened. kind `memory`: `amount` is the size of
    each event in bytes. kind `clock`: `amount` is the number of seconds by which the time of day jumps.
    """

    kind: str
    amount: int


def stresses(count: int) -> list[Stress]:
    """Return generated stresses that cycle through the kinds."""
    rng = random.Random(SEED)
    amounts: dict[str, Callable[[], int]] = {
        "clock": lambda: rng.choice([-1, 1]) * rng.choice([1, 3600, DAY_S, 400 * DAY_S]),
        "files": lambda: rng.randrange(4),
        "memory": lambda: rng.randrange(1 << 10, 8 << 20),
    }
    kinds = list(amounts)
    return [Stress(kind, amounts[kind]()) for kind in (kinds[each % len(kinds)] for each in range(count))]


@contextmanager
def limited(gateway: Gateway, limit: int, soft: Callable[[psutil.Process], int]) -> Iterator[None]:
    """Limit a resource of every process of a Headwater."""
    found = [gateway.running.process.pid, *(each.pid for each in gateway.running.children())]
    before = {pid: resource.prlimit(pid, limit) for pid in found}
    for pid, (_, hard) in before.items():
        resource.prlimit(pid, limit, (soft(psutil.Process(pid)), hard))
    try:
        yield
    finally:
        for pid, old in before.items():
            if psutil.pid_exists(pid):
                resource.prlimit(pid, limit, old)


@contextmanager
def stressed(gateway: Gateway, stress: Stress, clock: Path) -> Iterator[None]:
    if stress.kind == "files":
        with limited(gateway, resource.RLIMIT_NOFILE, lambda of: of.num_fds() + stress.amount):
            yield
    elif stress.kind == "memory":
        with limited(gateway, resource.RLIMIT_DATA, lambda _: MEMORY):
            yield
    else:
        with clock.open("r+b") as file:
            file.write(stress.amount.to_bytes(8, "little", signed=True))
        yield


@pytest.mark.timeout(180)
@pytest.mark.parametrize("stress", few_of(stresses(24), 3), ids=str)
def test_what_is_acknowledged_without_files_memory_or_a_steady_clock_is_stored(tmp_path: Path, stress: Stress) -> None:
    clock = tmp_path / "clock"
    clock.write_bytes(bytes(8))
    preload = {"LD_PRELOAD": str(library_of(Path(__file__).with_name("clock_jump.c"), tmp_path))}
    own = {"CLOCK_JUMP": str(clock), **preload} if stress.kind == "clock" else {}
    acknowledged: set[str] = set()
    posted: set[str] = set()

    def post(client: httpx.Client, size: int = 0) -> None:
        event = run_event(run={"runId": run_event()["run"]["runId"], "facets": {"x": {"v": "v" * size}}})
        run = event["run"]["runId"]
        posted.add(run)
        try:
            answer = client.post("/api/v1/lineage", content=body(event), headers=HEADERS)
        except httpx.TransportError:
            return  # the server could not accept the connection
        if answer.is_success:
            acknowledged.add(run)
        else:
            assert answer.status_code in (413, 429, 503), answer.text
            assert answer.text, "the refusal must name its cause"

    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        gateway_of = running(tmp_path / "data")
        gateway = gateway_of.__enter__()
    try:
        with gateway.client() as client:
            post(client)
            gateway.settled()
            with stressed(gateway, stress, clock):
                for _ in range(4):
                    post(client, stress.amount if stress.kind == "memory" else 0)
                for question in ("audit", "runs"):
                    answer = client.get(f"/api/headwater/v1/{question}")
                    assert answer.status_code in (200, 503), answer.text
            post(client)
        audit = gateway.settled()
        assert audit | {"balanced": True, "lost": 0, "trouble": None} == audit
    finally:
        gateway_of.__exit__(None, None, None)
    stored = [row["run_id"] for row in rows(tmp_path / "data", "events", ["run_id"])]
    assert len(stored) == len(set(stored))
    assert acknowledged <= set(stored) <= posted
