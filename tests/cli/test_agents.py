"""`headwater mcp`: a session of the official MCP client with the command, which asks a running `headwater up`."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from headwater.questions.registry import QUESTIONS
from tests.reference.small_events import CLEAR, made, run
from tests.reference.world_events import at, source, uuid
from tests.support.data.shop import EVENTS, LAKE, ONCE_CLEAR, REMADE, SHOWN, SQL, Asker, up
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

WIDE = [f"c{number:03d}" for number in range(70)]
TOOLS = {each.called for each in QUESTIONS.load_built_in().values() if each.called} | {"describe", "sinks"}
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("search", {"text": "custmer", "kinds": "dataset"}),
    ("impact", {"dataset": "landing/customers", "column": "email"}),
    ("upstream", {"dataset": "gold/mailing", "column": "contact"}),
    ("path", {"from_dataset": "landing/customers", "from_column": "email", "to_dataset": "gold/mailing"}),
    ("surface", {}),
    ("unused", {"dataset": "silver/customers", "verdict": "unknown"}),
    ("diff", {"since": "2026-03-01T12:01:15Z", "until": "2026-03-01T12:01:45Z"}),
    ("describe", {"dataset": "silver/customers"}),
    ("impact", {"dataset": "wide/source"}),
    ("search", {"text": "email", "limit": 1}),
    ("impact", {"dataset": "silver/custmers"}),
    ("impact", {"dataset": "silver/customers", "depth": 0}),
    ("impact", {}),
    ("upstream", {"dataset": "silver/customers", "column": "email_key"}),
    ("path", {"from_dataset": "landing/customers", "to_dataset": "silver/customers", "to_column": "email_key"}),
    ("surface", {"dataset": "lives/raw", "column": "email", "exposure": "once_exposed"}),
    ("impact", {"dataset": "lives/table", "column": "x"}),
    ("unused", {"dataset": "lives/table", "verdict": "used"}),
    ("unused", {"dataset": "lives/raw"}),
    ("unused", {"dataset": "lives/raw", "verdict": "unknown", "strict": True}),
    ("edge", {"from_dataset": "silver/customers", "to_dataset": "gold/mailing"}),
    ("coverage", {}),
    ("run", {"run": uuid(2)}),
    ("facets", {"entity": "dataset", "name": "columnLineage"}),
    ("names", {"namespace": "S3A://lake", "name": "/silver/customers/"}),
    ("run", {"run": "nothing/like?this"}),
    ("changes", {"since": "2026-03-01T12:01:15Z", "until": "2026-03-01T12:01:45Z"}),
    ("connect", {"url": "https://headwater.example"}),
    ("changes", {"since": "2026-03-01T12:01:15Z"}),
    ("impact", {"dataset": "wide/source", "depth": 1}),
    ("search", {"text": "c0", "limit": 1, "kinds": "column"}),
    ("surface", {"since": "2026-03-01T12:00:00Z"}),
    *(
        (tool, {})
        for tool in ("datasets", "jobs", "runs", "health", "incidents", "unreported", "rules", "job-graph", "sinks")
    ),
    *((tool, {"dataset": "silver/customers"}) for tool in ("timeline", "readers", "contract", "volume")),
    *((tool, {"run": uuid(2)}) for tool in ("run-details", "hierarchy")),
]
"""Calls of every tool, including some whose optional members are null. The client validates each answer."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Any]]:
    with up(tmp_path_factory.mktemp("agents") / "data") as running, Asker(running.url) as shop:
        fields = {column: [source((LAKE, "wide/source"), column, CLEAR)] for column in WIDE}
        shop.post(*ONCE_CLEAR, *REMADE, SHOWN)
        shop.post(*EVENTS, run(60, 110, made((LAKE, "wide/target"), fields, columns=" ".join(WIDE)), job="wide"))
        yield asyncio.run(_session(running.url))


async def _session(url: str) -> list[Any]:
    """Return the tools and then each answer: its JSON, or the text of an error."""
    root = str(ROOT)
    command = StdioServerParameters(
        command=sys.executable, args=["-c", "from headwater.cli import main; main()", "mcp", "--server", url],
        env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    async with stdio_client(command) as streams, ClientSession(*streams) as session:
        began = await session.initialize()
        assert (began.server_info.name, began.server_info.version) == ("headwater", version("headwater"))
        found: list[Any] = [(await session.list_tools()).tools]
        for tool, arguments in ASKED:
            answer: Any = await session.call_tool(tool, arguments)
            text = answer.content[0].text
            assert len(text) < 8_000, tool
            found.append(text if answer.is_error else json.loads(text))
            # the client has validated its schema
            assert answer.structured_content == (None if answer.is_error else found[-1])
        return found


def test_every_tool_says_what_it_is_for_and_changes_nothing(answers: list[Any]) -> None:
    tools = answers[0]
    assert {"search", "impact", "unused"} < TOOLS
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        assert tool.description
        assert tool.annotations.read_only_hint
        assert tool.output_schema["type"] == "object"
        assert "left_out" in tool.output_schema["properties"]


def test_answers_are_short_and_whole(answers: list[Any]) -> None:
    search, impact, upstream, path, surface, unused, diff, describe = answers[1:9]
    assert f"dataset {LAKE}/silver/customers" in search["found"]
    assert impact == {
        "of": f"{LAKE}/landing/customers#Email",
        "columns": {
            f"{LAKE}/bronze/customers": ["email: 1 step, from landing/customers#Email by job to_bronze, direct"],
            f"{LAKE}/gold/phones": ["key: 2 steps, from bronze/customers#email by job phones, direct"],
            f"{LAKE}/silver/customers": [
                "email: 2 steps, from bronze/customers#email by job to_silver, direct",
                "email_key: 2 steps, from bronze/customers#email by job to_silver, direct, masks, masked on the way",
            ],
            f"{LAKE}/gold/mailing": ["contact: 3 steps, from silver/customers#email by job to_gold, direct"],
        },
        "stops": [
            f"{LAKE}/bronze/customers -> {LAKE}/silver/customers",
            f"{LAKE}/silver/customers -> {LAKE}/export/dump",
        ],
        "left_out": None,
    }
    assert list(upstream["columns"]) == [
        f"{LAKE}/silver/customers", f"{LAKE}/bronze/customers", f"{LAKE}/landing/customers",
    ]  # fmt: skip
    assert (path["reaches"], len(path["path"])) == (True, 4)
    assert path["path"][-1] == f"{LAKE}/gold/mailing#contact by job to_gold, direct"
    assert surface["counts"] == {"exposed": 5, "unknown": 4, "masked": 1, "once_exposed": 0, "tagged": 1}
    assert surface["exposed"][0] == f"{LAKE}/landing/customers#Email (tagged), no write is known to mask this column"
    assert len(unused["unknown"]) == 2
    assert diff["counts"] == {"added": 2, "removed": 0, "changed": 0}
    assert (describe["made_of"], describe["written_by"]) == ([f"{LAKE}/bronze/customers"], ["to_silver"])
    assert (describe["feeds"], describe["also_read_by"]) == ([f"{LAKE}/gold/mailing"], ["export", "to_gold"])


def test_a_source_in_the_clear_is_masked_on_the_way_at_most(answers: list[Any]) -> None:
    upstream, path = answers[14:16]
    assert upstream["columns"] == {
        f"{LAKE}/bronze/customers": [
            "email: 1 step, from silver/customers#email_key by job to_silver, direct, masks, masked on the way"
        ],
        f"{LAKE}/landing/customers": [
            "Email: 2 steps, from bronze/customers#email by job to_bronze, direct, masked on the way"
        ],
    }
    assert path["path"][-1] == f"{LAKE}/silver/customers#email_key by job to_silver, direct, masks"
    assert not any("mask" in step for step in path["path"][:-1])


def test_clear_values_from_before_readers_from_before_and_mere_showing_are_told(answers: list[Any]) -> None:
    once, impact, used, unused, strict = answers[16:21]
    assert once["masked"] == [f"{LAKE}/lives/masked#email by job mask, direct, masks, in the clear until {at(0)}"]
    assert impact["columns"] == {
        f"{LAKE}/lives/report": ["x: 1 step, from lives/table#x by job report, direct (read before re-creation)"]
    }
    assert used["used"] == [f"{LAKE}/lives/table#x: read by a job (read before re-creation)"]
    assert used["reasons"] == ["1 used: read by a job"]
    assert unused["counts"] == {"used": 1, "unused": 1, "unknown": 0}
    assert any("notebook" in caveat for caveat in unused["caveats"])
    assert [line.partition("#")[2].partition(":")[0] for line in strict["unknown"]] == ["notes"]


def test_what_does_not_fit_is_named(answers: list[Any]) -> None:
    wide, one = answers[9:11]
    assert sum(len(columns) for columns in wide["columns"].values()) == 60
    said = f"10 more columns, in datasets such as {LAKE}/wide/target. Ask with `column`. Ask with a smaller `depth`."
    assert wide["left_out"] == said
    assert "more things" in one["left_out"]


def test_every_tool_was_answered_and_an_open_end_is_null(answers: list[Any]) -> None:
    told = list(zip(ASKED, answers[1:], strict=True))
    assert {tool for (tool, _), found in told if isinstance(found, dict)} == TOOLS
    (found,) = (found for asked, found in told if asked == ("changes", {"since": "2026-03-01T12:01:15Z"}))
    assert found["to"] is None
    assert found["changes"]


def test_left_out_recommends_parameters_that_exist_and_were_not_given(answers: list[Any]) -> None:
    takes = {tool.name: {*tool.input_schema["properties"]} for tool in answers[0]}
    hints = [
        (tool, given, {*re.findall(r"`(\w+)`", found["left_out"])})
        for (tool, given), found in zip(ASKED, answers[1:], strict=True)
        if isinstance(found, dict) and found["left_out"]
    ]
    assert any(named for _, _, named in hints)
    for tool, given, named in hints:
        assert named <= takes[tool] - given.keys(), tool


def test_a_description_speaks_of_no_parameter_that_its_tool_lacks(answers: list[Any]) -> None:
    every = {name for tool in answers[0] for name in tool.input_schema["properties"]}
    for tool in answers[0]:
        named = {*re.findall(r"`(\w+)`", tool.description)}
        assert named & every <= {*tool.input_schema["properties"]}, tool.name


def test_the_documentation_names_the_registered_tools() -> None:
    page = (ROOT / "docs/how-to/analytics-engineer/agents.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == TOOLS


def test_any_question_is_a_tool_and_what_does_not_fit_is_counted(answers: list[Any]) -> None:
    edge, coverage, run, facets, names, unknown = answers[21:27]
    assert [(item["job"]["name"], item["sql"]) for item in edge["items"]] == [("to_gold", SQL)]
    assert coverage["left_out"] is None
    assert len(coverage["items"]) == coverage["totalCount"]
    assert run["run"]["id"] == uuid(2)
    assert 0 < len(facets["items"]) < facets["totalCount"]
    assert facets["left_out"] == f"{facets['totalCount'] - len(facets['items'])} more items. Ask for less."
    assert names["canonical"]["name"] == "silver/customers"
    assert "nothing/like?this" in unknown


def test_errors_say_what_fits(answers: list[Any]) -> None:
    unknown, depth, missing = answers[11:14]
    assert f"Nearest: '{LAKE}/silver/customers'" in unknown
    assert "depth" in depth
    assert "dataset" in missing
