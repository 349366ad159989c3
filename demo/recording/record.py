"""Run the producers of the recorded shop and store the events that they send: `python -m demo.recording.record`.

Spark 3.5.7 with OpenLineage's listener 1.53.0 runs the notebooks, and `dbt-ol` runs the models on DuckDB. The events of
each execution go to one file in `captured/`; only names of this machine are replaced. A recording takes about five
minutes and needs what `make setup` and `python -m tools.producer_envs` install. Run `python -m demo.recording.build`
afterwards.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from deltalake import DeltaTable

from tools.locked_environment import ROOT
from tools.producer_envs import DBT, environment

HERE = Path(__file__).parent
CAPTURED = HERE / "captured"

_WAREHOUSE = """
import sys
import duckdb
database, *tables = sys.argv[1:]
connection = duckdb.connect(database)
connection.execute("CREATE SCHEMA IF NOT EXISTS lakehouse")
for table in tables:
    name, files = table.split("=", 1)
    connection.execute(f"CREATE OR REPLACE VIEW lakehouse.{name} AS SELECT * FROM read_parquet([{files}])")
"""
"""Creates views of the lakehouse's tables in DuckDB; runs in dbt's environment."""


def main() -> None:
    """Record every execution, in an order in which the tables that each one reads exist.

    Arguments: the executions to run, such as `stock_last`; the default is all.
    """
    wanted = sys.argv[1:]
    CAPTURED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, receiver() as (url, events):
        folder = Path(name)

        def record(notebook: str, stage: str = "") -> None:
            capture = f"{notebook}_{stage}" if stage else notebook
            if wanted and capture not in wanted:
                return
            if notebook == "dbt":
                _dbt(url, folder)
            else:
                _notebook(notebook, stage or "after", url, folder)
            text = "".join(_renamed(event, folder) + "\n" for event in events)
            (CAPTURED / f"{capture}.ndjson").write_text(text)
            print(f"{capture}: {len(events)} events, {len(text) / 1e3:.0f} KB", flush=True)
            events.clear()

        record("clicks")
        for stage in ("before", "after", "last"):
            for producer in ("nightly", "stock", "export", "dbt"):
                record(producer, stage)


@contextmanager
def receiver() -> Iterator[tuple[str, list[bytes]]]:
    """Accept events on a free port; yields the address and the list of received events."""
    events: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self._body()
            packed = self.headers.get("content-encoding") == "gzip"
            events.append(gzip.decompress(body) if packed else body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def _body(self) -> bytes:
            if length := self.headers.get("content-length"):
                return self.rfile.read(int(length))
            body = b""  # the Java client uses chunked encoding
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", events
    finally:
        server.shutdown()


def _notebook(name: str, stage: str, url: str, folder: Path) -> None:
    command = [sys.executable, "-m", "demo.recording.notebooks", name, "--url", url, "--lake", str(folder / "lake")]
    subprocess.run([*command, "--stage", stage], cwd=ROOT, check=True)


def _dbt(url: str, folder: Path) -> None:
    """Run `dbt-ol build`. With the input of the last night, a model and a test fail."""
    programs = environment(DBT)
    project, database = folder / "dbt", folder / "warehouse.duckdb"
    shutil.copytree(HERE / "dbt", project, dirs_exist_ok=True)
    silver = folder / "lake" / "Sales" / "Shop.Lakehouse" / "Tables" / "silver"
    tables = [
        f"{name}=" + ", ".join(f"'{file}'" for file in DeltaTable(str(silver / name)).file_uris())
        for name in ("customers", "orders", "stock")
    ]
    subprocess.run([programs / "python", "-c", _WAREHOUSE, database, *tables], check=True)
    settings = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "OPENLINEAGE_URL": url,
        "OPENLINEAGE_NAMESPACE": "dbt",
        "SHOP_DATABASE": str(database),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    with (folder / "dbt.log").open("a") as log:
        subprocess.run(
            [programs / "dbt-ol", "build", "--profiles-dir", "."], cwd=project, env=os.environ | settings, stdout=log,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip


def _renamed(event: bytes, folder: Path) -> str:
    """Return an event as one line of JSON, with the folders and the user of this machine replaced."""
    text = json.dumps(json.loads(event), ensure_ascii=False, separators=(",", ":"))
    text = text.replace(str(folder), "/srv/shop").replace(str(ROOT), "/srv/headwater")
    text = text.replace(str(environment(DBT).parent), "/srv/dbt")
    text = re.sub(r'"userName":"[^"]*"', '"userName":"svc-shop"', text)
    return re.sub(r"/usr/lib/python3[^\" ]*?/|/[^\" :]*?/site-packages/", "/srv/python/", text)


if __name__ == "__main__":
    main()
