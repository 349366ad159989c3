"""Tables fit on narrow terminals, and names keep their ends."""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.cells import cell_len
from typer.main import get_command

from headwater.cli.app import app
from headwater.cli.contract import write_file
from headwater.cli.lineage import count_by_table
from headwater.cli.printing import CSV, WIDE, any_answer_printer, fold_table, list_table, print_value
from headwater.common.errors import WrongSetting
from tests.support.commands import commanded

DEEP = "lakehouse.Lakehouse/Tables/sales_reporting_emea"
NAMES = (f"{DEEP}/customer_orders_enriched#customer_email_address", f"{DEEP}/お客様のメールアドレス#x", "short")


@pytest.mark.parametrize("width", [30, 60, 80, 120, 400])
def test_rows_fit_and_names_keep_their_ends(width: int) -> None:
    rows = [[name, "1", "read by a job that reports no column lineage"] for name in NAMES]
    found = fold_table(["column", "steps", "why"], rows, width)
    assert sum(found.widths) + 3 * 3 + 1 <= width
    for row, name in zip(found.rows, NAMES, strict=True):
        flat = row[0].replace("\n", "")
        assert name.endswith(flat.removeprefix("…"))
        assert cell_len(flat) >= min(cell_len(name), found.widths[0])
        assert all(cell_len(line) <= found.widths[0] for line in row[0].split("\n"))
    assert (found.rows == rows) == (width == 400)


def test_names_in_lists_and_sentences_break_at_their_separators() -> None:
    rows = [["drop column Shop.silver.orders#amount", "warehouse.gold.revenue#revenue\nwarehouse_load"]]
    found = fold_table(["what", "columns"], rows, 40)
    assert found.rows == [
        ["drop column Shop.silver.\norders#amount", "warehouse.gold.\nrevenue#revenue\nwarehouse_load"]
    ]


class Terminal(io.StringIO):
    """An output stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_what_all_names_begin_with_is_said_once() -> None:
    found = fold_table(["column"], [[name] for name in NAMES[:2]], 60)
    assert found.notes[0] == f"column: … stands for {DEEP}/"
    assert found.rows[0] == ["…customer_orders_enriched#customer_email_address"]


def test_a_pipe_is_as_wide_as_columns_says_and_wide_shows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    items = {"items": [{"namespace": "n", "dataset": name, "column": None, "why": "for a reason"} for name in NAMES]}

    def printed(out: io.StringIO) -> list[str]:
        with redirect_stdout(out):
            print_value(items, False, lambda: list_table("Columns", items, (".", "why")))
        return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()

    monkeypatch.setenv("COLUMNS", "60")
    assert all(cell_len(line) <= 60 for line in printed(io.StringIO()))
    monkeypatch.delenv("COLUMNS")
    assert any(NAMES[0] in line for line in printed(io.StringIO()))
    monkeypatch.setenv("COLUMNS", "60")
    assert all(cell_len(line) <= 60 for line in printed(Terminal()))
    assert not any(NAMES[0] in line for line in printed(Terminal()))
    token = WIDE.set(True)
    assert any(NAMES[0] in line for line in printed(Terminal()))
    WIDE.reset(token)


def test_an_answer_of_any_shape_is_printed_without_a_value_of_python() -> None:
    job = {"namespace": "jobs", "name": "to_gold"}
    step = {"type": "DIRECT", "subtype": "IDENTITY", "masking": True, "description": None}
    here = {"namespace": "s3://lake", "dataset": "silver/t", "column": "c"}
    found = {
        "from": here, "balanced": True, "trouble": None, "counts": {"used": 2, "by": {"deep": None}},
        "words": ["a", "b"],
        "items": [{"via": {**here, "job": job, "transformation": step}, "ok": False, "jobs": [job, job], "t": [step]}],
        "totalCount": 1, "truncated": False, "none": [],
    }  # fmt: skip
    out = io.StringIO()
    with redirect_stdout(out):
        any_answer_printer("Any")(found, False, {})
    flat = " ".join(out.getvalue().split())
    for text in ("│ balanced │ yes │", "│ words │ a; b │", "│ from │ silver/t#c │", "│ counts.used │ 2 │"):
        assert text in flat
    assert "│ silver/t#c │ to_gold │ direct identity, masks │ no │ to_gold; to_gold │ direct identity, masks │" in flat
    assert not any(word in flat for word in ("None", "True", "False", "{", "["))


def test_two_names_never_print_as_the_same_text() -> None:
    names = [f"{start}/{'very_long_folder/' * 8}orders#customer_email" for start in ("prod", "test", "prod/copy")]
    shown = [row[0] for row in fold_table(["column", "why"], [[name, "read by a job"] for name in names], 80).rows]
    assert len({text.replace("\n", "") for text in shown}) == len(names)


def test_a_table_is_printed_as_csv_with_whole_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    items = [{"namespace": "n", "dataset": name, "column": None, "why": '=1+1, "odd"'} for name in NAMES]
    token, out = CSV.set(True), io.StringIO()
    with redirect_stdout(out):
        any_answer_printer("Columns")({"items": items, "totalCount": 3}, False, {})
    CSV.reset(token)
    rows = list(csv.reader(io.StringIO(out.getvalue())))
    assert rows == [["dataset", "why"], *([f"n/{name}", '\'=1+1, "odd"'] for name in NAMES)]


def commands(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """Yield every command with its words, including groups that run without a subcommand."""
    if not hasattr(group, "commands") or group.invoke_without_command:
        yield " ".join(path), group
    for name, inner in getattr(group, "commands", {}).items():
        yield from commands(inner, *path, name)


def test_every_command_that_prints_a_table_offers_csv_and_wide() -> None:
    options = {name: {each for one in found.params for each in one.opts} for name, found in commands(get_command(app))}
    printing = {name for name, found in options.items() if "--json" in found}
    assert {"check", "log show", "backup", "spark refresh", "fabric check", "sinks", "contract check"} < printing
    assert {name for name in printing if not {"--csv", "--wide"} <= options[name]} == {"watch", "connect"}, (
        "these commands print lines, not tables"
    )


def test_a_command_without_a_question_prints_csv_in_a_narrow_pipe(tmp_path: Path) -> None:
    done = commanded("check", "--csv", cwd=tmp_path, environment={"COLUMNS": "30"})
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == ["setting", "value", "from"]
    assert {len(row) for row in rows} == {3}
    assert ["port", "5000", "default"] in rows
    table = commanded("check", cwd=tmp_path, environment={"COLUMNS": "60"}).stdout
    assert max(map(len, table.splitlines())) == 60


def test_a_diff_begins_with_the_tables_that_lost_most() -> None:
    def item(change: str, dataset: str) -> dict[str, object]:
        return {"change": change, "to": {"namespace": "n", "dataset": dataset, "column": "x"}}

    found = count_by_table([item("added", "a"), item("removed", "b"), item("added", "b"), item("added", "a")])
    assert [(each["dataset"], each["added"], each["removed"]) for each in found] == [("b", 1, 1), ("a", 2, 0)]


def test_a_contract_is_not_written_into_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(WrongSetting, match=r"the folder .*/none does not exist\. Create it"):
        write_file(tmp_path / "none" / "contract.yml", "x")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("seed", range(20))
def test_two_columns_never_print_as_the_same_text_at_80_columns(seed: int) -> None:
    chance = Random(seed)
    words = ["customer", "orders", "email", "x", "reporting_emea", "Übersicht", "お客様"]

    def name() -> str:
        parts = [chance.choice(words) for _ in range(chance.randrange(3, 16))]
        return "".join(part + chance.choice("/._#") for part in parts).rstrip("/._#")

    names = list(dict.fromkeys(name() for _ in range(60)))
    names += [f"{each[:-1]}{'yz'[each.endswith('y')]}" for each in names]  # the names differ in one letter at the end
    names = list(dict.fromkeys([*names, *(f"a{each[1:]}" for each in names)]))  # or in one letter at the beginning
    found = fold_table(["column", "via", "why"], [[each, "bronze/orders#id", "read by a job"] for each in names], 80)
    assert len({row[0].replace("\n", "") for row in found.rows}) == len(names)
