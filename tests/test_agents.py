"""`headwater mcp`: a session of the protocol's own client with the command, which asks a running `headwater up`."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from headwater.questions import declared
from headwater.questions.declaring import questions_in
from tests.reference.small_events import CLEAR, made, run
from tests.reference.world_events import at, source, uuid
from tests.shop import EVENTS, LAKE, ONCE_CLEAR, REMADE, SHOWN, Asker, up

pytestmark = pytest.mark.slow

WIDE = [f"c{number:03d}" for number in range(70)]
TOOLS = {each.called for each in questions_in(vars(declared)) if each.called} | {"describe", "sinks"}
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
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Any]]:
    with up(tmp_path_factory.mktemp("agents") / "data") as running, Asker(running.url) as shop:
        fields = {column: [source((LAKE, "wide/source"), column, CLEAR)] for column in WIDE}
        shop.post(*ONCE_CLEAR, *REMADE, SHOWN)
        shop.post(*EVENTS, run(60, 110, made((LAKE, "wide/target"), fields, columns=" ".join(WIDE)), job="wide"))
        yield asyncio.run(_session(running.url))


async def _session(url: str) -> list[Any]:
    """Return the tools, then each answer: its JSON, or the text of an error."""
    root = str(Path(__file__).parents[1])
    command = StdioServerParameters(
        command=sys.executable, args=["-c", "from headwater.cli import main; main()", "mcp", "--to", url],
        env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    async with stdio_client(command) as streams, ClientSession(*streams) as session:
        await session.initialize()
        found: list[Any] = [(await session.list_tools()).tools]
        for tool, arguments in ASKED:
            answer: Any = await session.call_tool(tool, arguments)
            text = answer.content[0].text
            assert len(text) < 8_000
            found.append(text if answer.is_error else json.loads(text))
        return found


def test_every_tool_says_what_it_is_for_and_changes_nothing(answers: list[Any]) -> None:
    tools = answers[0]
    assert {"search", "impact", "unused"} < TOOLS
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        assert tool.description
        assert tool.annotations.read_only_hint


def test_answers_are_short_and_whole(answers: list[Any]) -> None:
    search, impact, upstream, path, surface, unused, diff, describe = answers[1:9]
    assert f"dataset {LAKE}/silver/customers" in search["found"]
    assert impact == {
        "of": f"{LAKE}/landing/customers#Email",
        "columns": {
            f"{LAKE}/bronze/customers": ["email 1"],
            f"{LAKE}/gold/phones": ["key 2"],
            f"{LAKE}/silver/customers": ["email 2", "email_key 2 masked on the way"],
            f"{LAKE}/gold/mailing": ["contact 3"],
        },
        "stops": [f"{LAKE}/silver/customers -> {LAKE}/export/dump"],
        "left_out": None,
    }
    assert list(upstream["columns"]) == [
        f"{LAKE}/silver/customers", f"{LAKE}/bronze/customers", f"{LAKE}/landing/customers",
    ]  # fmt: skip
    assert (path["reaches"], len(path["path"])) == (True, 4)
    assert path["path"][-1] == f"{LAKE}/gold/mailing#contact by job to_gold"
    assert surface["counts"] == {"exposed": 4, "unknown": 4, "masked": 1, "once_exposed": 0}
    assert len(unused["unknown"]) == 2
    assert diff["counts"] == {"added": 2, "removed": 0, "changed": 0}
    assert (describe["made_of"], describe["written_by"]) == ([f"{LAKE}/bronze/customers"], ["to_silver"])
    assert (describe["feeds"], describe["also_read_by"]) == ([f"{LAKE}/gold/mailing"], ["export", "to_gold"])


def test_a_source_in_the_clear_is_masked_on_the_way_at_most(answers: list[Any]) -> None:
    upstream, path = answers[14:16]
    assert upstream["columns"] == {
        f"{LAKE}/bronze/customers": ["email 1 masked on the way"],
        f"{LAKE}/landing/customers": ["Email 2 masked on the way"],
    }
    assert path["path"][-1] == f"{LAKE}/silver/customers#email_key by job to_silver, which masks"
    assert not any("mask" in step for step in path["path"][:-1])


def test_clear_values_from_before_readers_from_before_and_mere_showing_are_told(answers: list[Any]) -> None:
    once, impact, used, unused, strict = answers[16:21]
    assert once["masked"] == [f"{LAKE}/lives/masked#email by job mask, in the clear until {at(0)}"]
    assert impact["columns"] == {f"{LAKE}/lives/report": ["x 1 (read before re-creation)"]}
    assert used["used"] == [f"{LAKE}/lives/table#x: read by a job (read before re-creation)"]
    assert used["reasons"] == ["1 used: read by a job"]
    assert unused["counts"] == {"used": 1, "unused": 1, "unknown": 0}
    assert any("notebook" in caveat for caveat in unused["caveats"])
    assert [line.partition("#")[2].partition(":")[0] for line in strict["unknown"]] == ["notes"]


def test_what_does_not_fit_is_named(answers: list[Any]) -> None:
    wide, one = answers[9:11]
    assert sum(len(columns) for columns in wide["columns"].values()) == 60
    said = f"10 more columns, in datasets such as {LAKE}/wide/target. Ask with `column`, or with a smaller `depth`."
    assert wide["left_out"] == said
    assert "more things" in one["left_out"]


def test_any_question_is_a_tool_and_what_does_not_fit_is_counted(answers: list[Any]) -> None:
    edge, coverage, run, facets, names, unknown = answers[21:27]
    assert [item["job"]["name"] for item in edge["items"]] == ["to_gold"]
    assert coverage["left_out"] is None
    assert len(coverage["items"]) == coverage["totalCount"]
    assert run["run"]["id"] == uuid(2)
    assert 0 < len(facets["items"]) < facets["totalCount"]
    assert facets["left_out"] == f"{facets['totalCount'] - len(facets['items'])} more items. Ask for less."
    assert names["canonical"]["name"] == "silver/customers"
    assert "nothing/like?this" in unknown


def test_errors_say_what_fits(answers: list[Any]) -> None:
    unknown, depth, missing = answers[11:14]
    assert f"Nearest: {LAKE}/silver/customers" in unknown
    assert "depth" in depth
    assert "dataset" in missing
