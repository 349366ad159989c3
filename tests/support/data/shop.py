"""A small shop's lineage for tests of questions: every exposure and verdict, aliases, a cycle, and odd names."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.reference.small_events import CLEAR, FILTERED, HASHED, Named, changed, made, run, with_schema
from tests.reference.world_events import Json, at, dataset, facet, schema, source, symlinks, uuid
from tests.support.data.samples import body
from tests.support.running import Running
from tests.support.waiting import rest

API = "/api/headwater/v1"
LAKE = "s3://lake"
LANDING, BRONZE, SILVER, MAILING, EXPORT, OTHER, TARGET, LEFT, RIGHT = (
    (LAKE, name)
    for name in (
        "landing/customers", "bronze/customers", "silver/customers", "gold/mailing", "export/dump", "other/mailing",
        "gold/phones", "loop/left", "loop/right",
    )
)  # fmt: skip
ALIAS = ("hive://meta", "shop.customers")
ODD = ("odd://näme spaces", 'it\'s "odd"/<script>alert(1)</script>/\u202e\U0001f600/%2F\nline')
SQL = "INSERT INTO gold.mailing SELECT email AS contact FROM silver.customers"
LAST = uuid(9)

EVENTS: list[Json] = [
    run(1, 0, made(
        BRONZE, {name: [source(LANDING, name, CLEAR)] for name in ("id", "email", "phone")},
        source(LANDING, "country", FILTERED), columns="id email phone",
    ), reads=[dataset(
        LANDING, schema=schema(["id", "Email", "phone", "country", "notes"]),
        tags=facet(tags=[{"key": "PII", "value": "true", "field": "email"}]),
    )], job="to_bronze"),
    run(2, 10, made(
        SILVER, {"email": [source(BRONZE, "email", CLEAR)], "email_key": [source(BRONZE, "email", HASHED)]},
        columns="email email_key loaded_by", symlinks=symlinks(ALIAS),
    ), job="to_silver"),
    run(3, 20, made(MAILING, {"contact": [source(SILVER, "email", CLEAR)]}, columns="contact"), job="to_gold",
        job_facets={"sql": facet(query=SQL)}),
    run(4, 30, with_schema(EXPORT, "a b"), reads=[dataset(SILVER)], job="export"),
    run(5, 40, made(LEFT, {"v": [source(RIGHT, "v", CLEAR), source(LEFT, "v", CLEAR)]}, columns="v"), job="left"),
    run(6, 50, made(RIGHT, {"v": [source(LEFT, "v", CLEAR)]}, columns="v"), job="right"),
    run(7, 60, made(ODD, {"a'b\"<i>\u202e": [source(RIGHT, "v", CLEAR)]}), job="odd"),
    run(8, 70, made(OTHER, {"x": [source(EXPORT, "a", CLEAR)]}), job="other"),
    run(9, 100, made(TARGET, {"phone": [source(BRONZE, "phone", CLEAR)], "key": [source(BRONZE, "email", CLEAR)]},
                     columns="phone key"), job="phones"),
]  # fmt: skip

DROPPED = run(10, 200, changed(MAILING, "DROP"), job="cleanup")

RAW, MASKED, TABLE, REPORT = ((LAKE, f"lives/{name}") for name in ("raw", "masked", "table", "report"))

ONCE_CLEAR: list[Json] = [
    run(220 + number, 10 * number, made(MASKED, {"email": [source(RAW, "email", how)]}, columns="email"), job="mask",
        reads=[with_schema(RAW, "email notes")])
    for number, how in enumerate((CLEAR, HASHED))
]  # fmt: skip
"""A job that appends, and that masks from its second run on."""

REMADE: list[Json] = [
    run(230, 20, made(TABLE, {"x": [source(RAW, "email", CLEAR)]}, columns="x"), job="make"),
    run(231, 25, made(REPORT, {"x": [source(TABLE, "x", CLEAR)]}, columns="x"), job="report"),
    run(232, 30, changed(TABLE, "DROP"), job="make.drop"),
    run(233, 40, made(TABLE, {"x": [source(RAW, "email", CLEAR)]}, columns="x"), job="make"),
]
"""A table that is read, dropped and recreated."""

SHOWN = run(40, 50, reads=[dataset(RAW)], job="notebook")
"""A batch job that reads a table and writes nothing."""

EMAIL = ("landing/customers", "email")
ENDS = ("landing/customers#email", "gold/mailing#contact")

COMMANDS = [
    ("coverage",), ("surface",), ("unused",), ("diff", "--from", at(75)), ("impact", *EMAIL), ("upstream", MAILING[1]),
    ("run", uuid(2)), ("facets", "job", "sql"), ("path", *ENDS), ("edge", "silver/customers#email", ENDS[1]),
]  # fmt: skip
"""Commands that tests run on the shop's data."""


def bodies(events: Sequence[Json]) -> list[bytes]:
    return [body(event) for event in events]


def up(folder: Path) -> Running:
    """Start Headwater with a short tick."""
    return Running(folder, options=["--tick", "50ms"], cwd=folder.parent)


class Asker:
    """A client that reads from one running Headwater."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=60)

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def post(self, *events: Json) -> None:
        """Send events and wait until the index contains the last of them."""
        answer = self.client.post("/api/v1/lineage/batch", json=list(events))
        assert answer.status_code == 204, answer.text
        self.wait_for(f"runs/{events[-1]['run']['runId']}/lineage")

    def wait_for(self, question: str, status: int = 200, **parameters: Any) -> Any:
        """Ask until the answer has a status. The server may answer 503 while it builds the index."""
        deadline = time.monotonic() + 60
        while (answer := self.get(question, **parameters)).status_code != status:
            assert time.monotonic() < deadline, answer.text
            assert answer.status_code in (200, 404, 503), answer.text
            rest()
        return answer.json()

    def get(self, question: str, **parameters: Any) -> httpx.Response:
        return self.client.get(f"{API}/{question}", params=parameters)

    def ask(self, question: str, **parameters: Any) -> Any:
        """Return the answer to a question."""
        answer = self.get(question, **parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, question: str, status: int, **parameters: Any) -> Any:
        """Return the error answer to a question."""
        answer = self.get(question, **parameters)
        assert answer.status_code == status, answer.text
        return answer.json()


def columns(answer: Any) -> dict[str, Any]:
    """Return the items of impact or upstream as `dataset.column` → (distance, masked)."""
    return {f"{each['dataset']}.{each['column']}": (each["distance"], each["masked"]) for each in answer["columns"]}


def told(answer: Any, word: str) -> dict[str, str]:
    """Return items as `dataset.column` → one of their values, such as exposure or verdict."""
    return {f"{each['dataset']}.{each['column']}": each[word] for each in answer["items"]}


def named(prefix: str, name: Named, column: str | None = None) -> dict[str, str]:
    """Return the parameters of one end of a path."""
    found = {f"{prefix}Namespace": name[0], f"{prefix}Dataset": name[1]}
    return found if column is None else {**found, f"{prefix}Column": column}
