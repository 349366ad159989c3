"""Nights of 300 DAGs, a dbt project and Spark applications, and the incidents that a person would list in the morning.

The events are those of real producers (`tests/fixtures/night/`, `headwater/operations/demo/`, `tests/fixtures/events/`)
with different ids, names, times and row counts. The expected incidents were derived by hand from
`docs/reference/incidents.md`: nothing here calls Headwater.
"""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Literal, NamedTuple

from tests.support.data.recorded_runs import (
    AIRFLOW_2,
    AIRFLOW_3,
    Dataset,
    Template,
    airflow_run,
    count_rows,
    dataset_names,
    dbt_build,
    known_error,
    spark_application,
    spark_export,
)

MORNING = datetime(2026, 11, 17, 8, tzinfo=UTC)
"""The moment at which a reader opens the incidents page, on a Tuesday."""

DAGS = 300
HISTORY = 30
"""Number of nights before the last one, for DAGs that need a regular schedule."""

SHORT_HISTORY = 2

Job = tuple[str, str]

_RAW, _FILES = "file://raw.example", "file://shop.example"
_DUCKDB = "duckdb:///opt/producer/shop.duckdb"
_AREAS = ("sales", "stock", "crm", "finance", "web", "support", "hr", "logistics", "returns", "pricing")
_TOPICS = ("orders", "invoices", "visits", "tickets", "items", "contacts", "costs", "parcels", "quotes", "budgets")


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident as a person would describe it.

    subject: namespace and name of a job or dataset, or only a namespace. check: column and name of a failed test.
    cause: the first failed run, or None if no run failed. failures: all its failed runs. affected: affected datasets.
    """

    kind: str
    subject: tuple[str, ...]
    state: Literal["open", "resolved"] = "open"
    check: tuple[str, str] | None = None
    severity: Literal["error", "warning"] = "error"
    cause: str | None = None
    failures: frozenset[str] = frozenset()
    affected: frozenset[Dataset] = frozenset()


@dataclass(frozen=True, slots=True)
class Night:
    """Events in the order of their times, the expected incidents, and the failed runs of last night with their jobs.

    test_runs: the failed runs that belong to failed tests. The others are the 16 runs of 8 causes. errors: a part of
    the error message of the failed runs that have one.
    """

    events: Sequence[bytes]
    incidents: frozenset[Incident]
    failed_runs: Mapping[str, Job]
    test_runs: frozenset[str]
    errors: Mapping[str, str]
    moment: datetime = MORNING


@cache
def night(number: Literal[1, 2, 3]) -> Night:
    """Return a night: 1 and 2 have faults of different subjects, 3 has none."""
    world = _World(number)
    {1: _first, 2: _second, 3: _third}[number](world)
    world.fill()
    return world.night()


class Ended(NamedTuple):
    """The end of a run."""

    job: Job
    run: str
    state: str
    time: str


class _Dag(NamedTuple):
    """A DAG: its job, the tables that it writes, and the ends of its runs of last night."""

    job: Job
    targets: tuple[Dataset, ...]
    ended: tuple[Ended, ...]

    def failed(self, task: str = "") -> tuple[str, ...]:
        """Return the failed runs of a task, or of the DAG itself, oldest first."""
        name = f"{self.job[1]}.{task}" if task else self.job[1]
        return tuple(each.run for each in self.ended if each.job[1] == name and each.state == "FAIL")

    def task(self, task: str) -> Job:
        return self.job[0], f"{self.job[1]}.{task}"


@dataclass
class _World:
    seed: int
    events: list[tuple[str, bytes]] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    failed: dict[str, Job] = field(default_factory=dict)
    test_runs: set[str] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)
    dbt: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(4700 + self.seed)
        names = [f"{area}_{topic}_{number}" for area in _AREAS for topic in _TOPICS for number in range(1, 4)]
        self.free = self.random.sample(names, DAGS)
        self.faults = self.seed != 3

    def dag(
        self,
        minute: int,
        *,
        script: str = "copy_table",
        last: str | None = "pass",
        history: int = SHORT_HISTORY,
        reads: Dataset | None = None,
        partner: str = "",
    ) -> _Dag:
        """Add a DAG that runs at a given minute of each night.

        script: the recorded DAG. last: which of its recorded runs to use for last night; None means that it does not
        run. reads: the dataset that it reads instead of a raw file. partner: the name of a DAG in a second Airflow, of
        version 2.x.
        """
        name = partner or self.free.pop()
        recording = AIRFLOW_2 if partner else AIRFLOW_3
        namespace = "airflow-partner" if partner else "airflow"
        names, targets = self._airflow_names(script, name, reads)
        names["airflow"] = namespace
        ended: tuple[Ended, ...] = ()
        for ago in range(history, -1, -1):
            outcome = "pass" if ago or not self.faults else last
            if outcome is not None:
                start = self.start(ago, minute)
                ended = self.run(airflow_run(recording, script, outcome), start, f"{name}/{ago}", names)
        return _Dag((namespace, name), targets, ended if last is not None or not self.faults else ())

    def run(
        self, template: Template, start: datetime, key: str, names: Mapping[str, str], rows: int | None = None
    ) -> tuple[Ended, ...]:
        """Add the events of a recorded run with other ids, names and times. Returns how its runs ended."""
        ended: list[Ended] = []
        for event in template.render(start, f"{self.seed}/{key}", names):
            if rows is not None:
                count_rows(event, rows)
            body = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
            self.events.append((event["eventTime"][:19], body))
            if event["eventType"] in ("COMPLETE", "FAIL", "ABORT"):
                job = (event["job"]["namespace"], event["job"]["name"])
                ended.append(Ended(job, event["run"]["runId"], event["eventType"], event["eventTime"]))
                if event["eventType"] != "COMPLETE":
                    self.failed[event["run"]["runId"]] = job
                    self.errors |= known_error(event)
        return tuple(ended)

    def expect(self, kind: str, subject: tuple[str, ...], failures: Iterable[str] = (), **more: Any) -> None:
        """Expect an incident whose cause is its first failure."""
        if self.faults:
            runs = tuple(failures)
            affected = frozenset(more.pop("affected", ()))
            cause = runs[0] if runs else None
            self.incidents.append(
                Incident(kind, subject, cause=cause, failures=frozenset(runs), affected=affected, **more)
            )

    def fill(self) -> None:
        """Add healthy DAGs until there are 300.

        Six of them run on a regular schedule. One of the six runs only after the reader's moment.
        """
        for number in range(5):
            self.dag(60 + 40 * number, history=HISTORY)
        self.dag(9 * 60 - 24 * 60, history=HISTORY)
        self.dag(100, script="two_tables")
        self.dag(100, script="clean_up")
        self.dag(100, script="load_table")
        while self.free:
            self.dag(self.random.randrange(20, 300))

    def night(self) -> Night:
        self.events.sort()
        return Night(
            [body for _, body in self.events],
            frozenset(self.incidents),
            self.failed,
            frozenset(self.test_runs),
            self.errors,
        )

    def start(self, ago: int, minute: int) -> datetime:
        """Return a time within 90 s of a minute of a night."""
        midnight = MORNING.replace(hour=0) - timedelta(days=ago)
        return midnight + timedelta(minutes=minute, seconds=self.random.uniform(-90, 90))

    def _airflow_names(
        self, script: str, name: str, reads: Dataset | None
    ) -> tuple[dict[str, str], tuple[Dataset, ...]]:
        if script == "shop_nightly":
            lake = "s3://shop.example"
            tables = ("orders", "customers", "revenue", "report")
            names = {f"{lake}/{table}": f"{lake}/{name}_{table}" for table in tables}
            return {**names, script: name}, tuple((lake, f"{name}_{table}") for table in tables)
        parts = ("left", "right") if script == "two_tables" else ("table",)
        targets = tuple((_FILES, f"/{name}" + (f"_{part}" if part != "table" else "")) for part in parts)
        names = {script: name}
        for part, target in zip(parts, targets, strict=True):
            source = reads or (_RAW, target[1])
            for recorded, own in (((_RAW, f"/{part}"), source), ((_FILES, f"/{part}"), target)):
                names |= dataset_names(recorded, own)
        return names, targets


def _first(world: _World) -> None:
    _nightly(world)
    _plain(world, 70)
    _chain(world)
    _never_recovers(world)
    _spark_failure(world)
    _twins(world)
    for minute in (20, 35):
        _late(world, minute)
    _common(world, "fail_orders")
    _tests_of_orders(world)


def _second(world: _World) -> None:
    _recovers(world)
    _control_flow(world)
    _plain(world, 90)
    _plain(world, 110)
    _chain(world)
    _nightly(world)
    _spark_failure(world)
    _late_twins(world)
    _common(world, "fail_customers")
    _tests_of_customers(world)


def _third(world: _World) -> None:
    _nightly(world)
    _plain(world, 80)
    _chain(world)
    _never_recovers(world)
    _spark_failure(world)
    _twins(world)
    _late(world, 25)
    _late_twins(world)
    _common(world, "pass")


def _nightly(world: _World) -> None:
    """Add a DAG with two causes: a task that succeeds at its second attempt, and one that fails before `publish`.

    The DAG's failed run belongs to the second cause because the first had recovered. The revenue was not computed after
    the customers were loaded, so both incidents affect the revenue and the report.
    """
    dag = world.dag(120, script="shop_nightly", last="fail")
    _, _, revenue, report = dag.targets
    customers = dag.failed("load.customers")
    world.expect("run.failed", dag.task("load.customers"), customers, state="resolved", affected=[revenue, report])
    failures = [*dag.failed("revenue"), *dag.failed()]
    world.expect("run.failed", dag.task("revenue"), failures, affected=[revenue, report])


def _plain(world: _World, minute: int) -> None:
    """Add a failed task with its failed DAG. Another DAG refreshed its table on time from the stale table."""
    dag = world.dag(minute, last="fail", history=HISTORY)
    reader = world.dag(minute + 60, reads=dag.targets[0], history=HISTORY)
    last = world.dag(minute + 90, reads=reader.targets[0])
    affected = [*dag.targets, *reader.targets, *last.targets]
    world.expect("run.failed", dag.task("copy"), [*dag.failed("copy"), *dag.failed()], affected=affected)


def _chain(world: _World) -> None:
    """Add a DAG that fails because the table that it reads is missing: four failed runs with one cause."""
    dag = world.dag(60, last="fail")
    follower = world.dag(130, last="fail", reads=dag.targets[0])
    last = world.dag(180, reads=follower.targets[0])
    failures = [run for each in (dag, follower) for run in (*each.failed("copy"), *each.failed())]
    world.expect("run.failed", dag.task("copy"), failures, affected=[*dag.targets, *follower.targets, *last.targets])


def _never_recovers(world: _World) -> None:
    """Add a task whose two attempts fail: three failed runs with one cause."""
    dag = world.dag(80, script="load_table", last="fail", history=HISTORY)
    world.expect("run.failed", dag.task("load"), [*dag.failed("load"), *dag.failed()], affected=dag.targets)


def _recovers(world: _World) -> None:
    """Add a task whose second attempt succeeds and writes its table."""
    dag = world.dag(80, script="load_table", last="recover", history=HISTORY)
    world.expect("run.failed", dag.task("load"), dag.failed("load"), state="resolved")


def _twins(world: _World) -> None:
    """Add a DAG in which two tasks fail independently: two causes. The DAG's run belongs to the first."""
    dag = world.dag(150, script="two_tables", last="fail")
    tasks = sorted((each for each in dag.ended if each.job != dag.job), key=lambda each: each.time)
    targets = dict(zip(("left", "right"), dag.targets, strict=True))
    for number, each in enumerate(tasks):
        failures = [each.run, *(() if number else dag.failed())]
        world.expect("run.failed", each.job, failures, affected=[targets[each.job[1].rpartition(".")[2]]])


def _control_flow(world: _World) -> None:
    """Add a task with the trigger rule `all_done` that fails after a failed task of the same DAG.

    It does not read any table of the failed task.
    """
    dag = world.dag(140, script="clean_up", last="fail")
    failures = [*dag.failed("make"), *dag.failed("remove"), *dag.failed()]
    world.expect("run.failed", dag.task("make"), failures, affected=dag.targets)


def _spark_failure(world: _World) -> None:
    """Add a Spark action that fails with a stack trace in an application that still ends successfully.

    The action never writes, in any run.
    """
    name = f"nb_{world.random.choice(_TOPICS)}_export_{world.seed}"
    names = {"nb_shop_export": name, "silver/stock": f"silver/{name}"}
    for ago in range(SHORT_HISTORY, -1, -1):
        template = spark_export("pass" if ago or not world.faults else "fail")
        ended = world.run(template, world.start(ago, 200), f"{name}/{ago}", names)
    failed = [each for each in ended if each.state == "FAIL"]
    if failed:
        world.expect("run.failed", failed[0].job, [failed[0].run])


def _late(world: _World, minute: int) -> None:
    """Add a DAG that did not run last night. Another DAG refreshed its table from the stale table."""
    dag = world.dag(minute, last=None, history=HISTORY)
    reader = world.dag(minute + 100, reads=dag.targets[0], history=HISTORY)
    world.expect("dataset.late", dag.targets[0], affected=[*dag.targets, *reader.targets])


def _late_twins(world: _World) -> None:
    """Add a DAG that did not run and whose two tasks each write a table: two jobs, so two incidents."""
    dag = world.dag(30, script="two_tables", last=None, history=HISTORY)
    for target in dag.targets:
        world.expect("dataset.late", target, affected=[target])


def _common(world: _World, build: str) -> None:
    """Add the silent producer, the Spark applications and the dbt project.

    One of the Spark applications has a drop in volume.
    """
    partners = [
        world.dag(minute, last=None, history=HISTORY, partner=f"partner_{topic}_{world.seed}")
        for minute, topic in zip((10, 25, 40), world.random.sample(_TOPICS, 3), strict=True)
    ]
    reader = world.dag(170, reads=partners[0].targets[0], history=HISTORY)
    targets = [target for each in partners for target in each.targets]
    world.expect("producer.silent", ("airflow-partner",), affected=[*targets, *reader.targets])
    for number, topic in enumerate(world.random.sample(_TOPICS, 4)):
        _application(world, f"nb_{topic}_{world.seed}", topic, drops=number == 0)
    for ago in range(HISTORY, -1, -1):
        template = dbt_build("pass" if ago else build)
        ended = world.run(template, world.start(ago, 240), f"dbt/{ago}", {})
    world.test_runs |= {each.run for each in ended if each.state == "FAIL"}
    world.dbt = {each.job[1].removeprefix("shop.main.shop."): each.run for each in ended if each.state == "FAIL"}


def _application(world: _World, name: str, topic: str, *, drops: bool) -> None:
    """Add an application whose row count varies by 2 %. With `drops`, it falls to 30 % last night."""
    table = f"Files/landing/{topic}_{world.seed}"
    names = {
        "nb_mini": name,
        "Files/landing/customers_csv": table,
        "landing_customers_csv": f"landing_{topic}_{world.seed}",
    }
    for ago in range(HISTORY if drops else SHORT_HISTORY, -1, -1):
        rows = round(10_000 * world.random.lognormvariate(0, 0.02))
        if drops and world.faults and not ago:
            rows = 3_000
        world.run(spark_application(), world.start(ago, 190), f"{name}/{ago}", names, rows)
    if drops:
        dataset = (
            "abfss://3f2a9c1e-0000-4000-8000-00000000aa01@onelake.dfs.fabric.microsoft.com",
            f"3eb04867-0000-4000-8000-0000000000b1/{table}",
        )
        world.expect("volume.unusual", dataset, severity="warning", affected=[dataset])


def _model(name: str) -> Dataset:
    return _DUCKDB, f"shop.main.{name}"


def _tests_of_orders(world: _World) -> None:
    """Expect two failed tests of severity error, in separate runs that end at the same moment.

    A test of severity warn fails as well. dbt skips `customer_revenue` and its test, which still reports `success:
    false`. The failed build belongs to the first of the failed tests by name.
    """
    runs = world.dbt
    world.expect(
        "test.failed",
        _model("stg_orders"),
        [runs["stg_orders.build.test"], runs["customer_revenue.build.test"], runs["dbt-run-shop"]],
        check=("amount", "not_null_stg_orders_amount"),
        affected=[_model("stg_orders"), _model("customer_revenue")],
    )
    world.expect(
        "test.failed",
        _model("stg_rates"),
        [runs["stg_rates.build.test"]],
        check=("rate", "not_null_stg_rates_rate"),
        affected=[_model("stg_rates")],
    )
    _warning(world)


def _tests_of_customers(world: _World) -> None:
    """Expect two failed tests of severity error, one of them in the run of a test of severity warn.

    The run belongs to the error. dbt skips all models downstream of the customers.
    """
    runs = world.dbt
    behind = [_model(name) for name in ("customers_history", "country_list", "customer_revenue")]
    world.expect(
        "test.failed",
        _model("stg_customers"),
        [runs["stg_customers.build.test"], runs["customer_revenue.build.test"], runs["dbt-run-shop"]],
        check=("customer_id", "unique_stg_customers_customer_id"),
        affected=[_model("stg_customers"), *behind],
    )
    world.expect(
        "test.failed",
        _model("stg_orders"),
        [runs["stg_orders.build.test"]],
        check=("order_id", "unique_stg_orders_order_id"),
        affected=[_model("stg_orders"), _model("customer_revenue")],
    )
    _warning(world)


def _warning(world: _World) -> None:
    world.expect(
        "test.failed",
        _model("stg_customers"),
        check=("country", "accepted_values_stg_customers_country__GB__US__NL"),
        severity="warning",
        affected=[_model("stg_customers")],
    )
