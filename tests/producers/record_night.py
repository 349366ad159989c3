"""Record the events of real producers for the nights of `tests/support/data/night.py`.

`python -m tests.producers.record_night dbt` and `… airflow [BIN]` replace a recording in tests/fixtures/night/. BIN is
the `bin` folder of an environment with Airflow (2.x or 3.x) and its OpenLineage provider. By default it is that of the
locked environment. Airflow runs with its own scheduler, on loopback and for at most ten minutes.
"""

import gzip
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from tests.support.paths import ROOT
from tools.producer_envs import AIRFLOW, DBT, environment

FIXTURES = ROOT / "tests" / "fixtures" / "night"
SCRIPTS = ROOT / "tests" / "producers" / "scripts" / "night"
TIMEOUT_S = 600
DAG_RUNS = 11
"""Runs of all DAGs of `scripts/night/airflow/night.py`."""

SEEDS = {
    "pass": {},
    "fail_orders": {
        "raw_orders": "5,2,,open\n",
        "raw_customers": "4,Donald,Knuth,XX\n",
        "rates": "insert into main.rates values ('USD', null)",
    },
    "fail_customers": {
        "raw_customers": "1,Ada,Lovelace,GB\n4,Donald,Knuth,XX\n",
        "raw_orders": "4,3,15,paid\n",
    },
}
"""Rows that each build adds to the seeds, and a statement for the source. They make tests fail."""


def main() -> None:
    """Record the events of the producer that the command line names."""
    kind, *more = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        if kind == "dbt":
            record_dbt(Path(folder), FIXTURES)
        else:
            programs = Path(more[0]).absolute() if more else environment(AIRFLOW)
            record_airflow(Path(folder), programs, FIXTURES)


def record_dbt(folder: Path, target: Path) -> None:
    """Build the dbt project with each set of seeds, each time in a new database.

    folder: an empty folder for the project and its databases. target: where the recordings are stored.
    """
    programs = environment(DBT)
    for name, rows in SEEDS.items():
        project, events = folder / name / "shop", folder / f"{name}.ndjson"
        shutil.copytree(SCRIPTS / "dbt", project)
        database = folder / name / "shop.duckdb"
        settings = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "OPENLINEAGE__TRANSPORT": _transport(events),
            "OPENLINEAGE_NAMESPACE": "dbt",
            "SHOP_DATABASE": str(database),
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        }
        rates = "create table main.rates as select 'EUR' as currency, 1.0 as rate"
        for statement in (rates, *([rows["rates"]] if "rates" in rows else [])):
            _run([str(programs / "python"), "-c", _STATEMENT, str(database), statement], settings, folder)
        for seed in ("raw_orders", "raw_customers"):
            with (project / "seeds" / f"{seed}.csv").open("a") as file:
                file.write(rows.get(seed, ""))
        status = _run([str(programs / "dbt-ol"), "build", "--profiles-dir", "."], settings, project, check=False)
        assert (status == 0) == (name == "pass"), f"dbt-ol exited with {status}"
        _store(f"dbt-{name}", events.read_text().splitlines(), {str(folder / name): "/opt/producer"}, target)


def record_airflow(folder: Path, programs: Path, target: Path) -> None:
    """Let a scheduler complete all DAG runs.

    folder: an empty home for Airflow. programs: the `bin` folder of its environment. target: where the recording is
    stored.
    """
    events, port = folder / "events.ndjson", _free_port()
    shutil.copytree(SCRIPTS / "airflow", folder / "dags")
    settings = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "airflow",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": _transport(events),
    }
    version = subprocess.run(
        [programs / "airflow", "version"], env={**_own(), **settings}, capture_output=True, text=True, check=True
    ).stdout.split()[-1]
    if version.startswith("2."):
        settings["AIRFLOW__CORE__EXECUTOR"] = "SequentialExecutor"
        services = [["scheduler"]]
    else:
        settings |= {
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "AIRFLOW__API_AUTH__JWT_SECRET": "of-this-recording-only-and-thirty-two-bytes-long",
        }
        api = ["api-server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        services = [api, ["dag-processor"], ["scheduler"]]
    _run([str(programs / "airflow"), "db", "migrate"], settings, folder)
    with ExitStack() as stack:
        for service in services:
            stack.enter_context(_service([str(programs / "airflow"), *service], settings, folder))
            if service[0] == "api-server":
                _await_port(port)  # a task that starts before the server listens would fail
        _await_runs(folder / "airflow.db")
    _store(
        f"airflow-{version}",
        events.read_text().splitlines(),
        {str(folder): "/opt/producer", str(programs.parent): "/opt/airflow"},
        target,
    )


_STATEMENT = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute(sys.argv[2])"


def _await_runs(database: Path) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    ended: dict[str, int] = {}
    while sum(ended.values()) < DAG_RUNS:
        assert time.monotonic() < deadline, f"Only these DAG runs ended in time: {ended}"
        time.sleep(2)
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            ended = dict(
                connection.execute(
                    "SELECT dag_id, COUNT(*) FROM dag_run WHERE state IN ('success', 'failed') GROUP BY dag_id"
                ).fetchall()
            )
    time.sleep(10)  # the scheduler sends the events of DAG runs from a pool of processes


@contextmanager
def _service(command: list[str], settings: Mapping[str, str], folder: Path) -> Iterator[None]:
    with (folder / f"{command[1]}.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**_own(), **settings}, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def _store(name: str, lines: Iterable[str], private: Mapping[str, str], target: Path) -> None:
    """Store events in the order of their times, without names and paths of this machine.

    private: further texts of this machine, with their replacements.
    """
    events = sorted((json.loads(line) for line in lines), key=lambda event: str(event["eventTime"]))
    text = "".join(json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n" for event in events)
    for found, public in {
        **private,
        str(ROOT): "/opt/headwater",
        os.path.realpath(sys.base_prefix): "/opt/python",
    }.items():
        text = text.replace(found, public)
    text = re.sub(rf"\b{re.escape(socket.gethostname())}\b", "worker.example", text)
    left = set(re.findall(r"/(?:home|root|tmp|work|Users)/[^\"\\ ]*", text))
    assert not left, f"Paths of this machine remain: {sorted(left)[:5]}"
    (target / f"{name}.ndjson.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    sys.stdout.write(f"{name}: {len(events)} events\n")


def _transport(file: Path) -> str:
    return json.dumps({"type": "file", "log_file_path": str(file), "append": True})


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def _await_port(port: int) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < deadline, "The API server did not listen in time"
            time.sleep(0.5)
        else:
            return


def _own() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _run(command: list[str], settings: Mapping[str, str], cwd: Path, *, check: bool = True) -> int:
    done = subprocess.run(
        command, cwd=cwd, env={**_own(), **settings}, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    assert not check or done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.returncode


if __name__ == "__main__":
    main()
