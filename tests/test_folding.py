"""Tables on narrow terminals: they fit, and no name loses its end."""

import io
import re
from contextlib import redirect_stdout

import pytest
from rich.cells import cell_len

from headwater.cli.folding import fold
from headwater.cli.printing import WIDE, any_answer, show, table

DEEP = "lakehouse.Lakehouse/Tables/sales_reporting_emea"
NAMES = (f"{DEEP}/customer_orders_enriched#customer_email_address", f"{DEEP}/お客様のメールアドレス#x", "short")


@pytest.mark.parametrize("width", [30, 60, 80, 120, 400])
def test_rows_fit_and_names_keep_their_ends(width: int) -> None:
    rows = [[name, "1", "read by a job that reports no column lineage"] for name in NAMES]
    found = fold(["column", "steps", "why"], rows, width)
    assert sum(found.widths) + 3 * 3 + 1 <= width
    for row, name in zip(found.rows, NAMES, strict=True):
        flat = row[0].replace("\n", "")
        assert name.endswith(flat.removeprefix("…"))
        assert cell_len(flat) >= min(cell_len(name), found.widths[0])
        assert all(cell_len(line) <= found.widths[0] for line in row[0].split("\n"))
    assert (found.rows == rows) == (width == 400)


class Terminal(io.StringIO):
    """What is printed to, where somebody looks at it."""

    def isatty(self) -> bool:
        return True


def test_what_all_names_begin_with_is_said_once() -> None:
    found = fold(["column"], [[name] for name in NAMES[:2]], 60)
    assert found.notes[0] == f"column: … stands for {DEEP}/"
    assert found.rows[0] == ["…customer_orders_enriched#customer_email_address"]


def test_a_terminal_is_measured_a_pipe_is_not_and_wide_shows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    items = {"items": [{"namespace": "n", "dataset": name, "column": None, "why": "for a reason"} for name in NAMES]}

    def printed(out: io.StringIO) -> list[str]:
        with redirect_stdout(out):
            show(items, False, lambda: table("Columns", items, (".", "why")))
        return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()

    monkeypatch.setenv("COLUMNS", "60")
    assert any(NAMES[0] in line for line in printed(io.StringIO()))
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
        any_answer("Any")(found, False, {})
    flat = " ".join(out.getvalue().split())
    for text in ("│ balanced │ yes │", "│ words │ a; b │", "│ from │ silver/t#c │", "│ counts.used │ 2 │"):
        assert text in flat
    assert "│ silver/t#c │ to_gold │ direct identity, masks │ no │ to_gold; to_gold │ direct identity, masks │" in flat
    assert not any(word in flat for word in ("None", "True", "False", "{", "["))
