"""Only the packages of the log, the lake and the index may contain SQL. Other code calls them."""

import ast
import re

import pytest

from tests.support.paths import ROOT

ROOMS = ("api", "questions", "cli")
FOLDER = ROOT / "headwater"
SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ORDER BY|GROUP BY|JOIN|PRAGMA)\b")


def texts(source: str) -> list[str]:
    """Return the string literals of a module without docstrings."""
    tree = ast.parse(source)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    return [node.value for node in found if isinstance(node.value, str)]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_that_answers_holds_no_sql(room: str) -> None:
    files = sorted((FOLDER / room).rglob("*.py"))
    assert files
    assert {(str(path), text) for path in files for text in texts(path.read_text()) if SQL.search(text)} == set()
    calls = {str(path) for path in files if re.search(r"\.(execute(many|script)?|query)\(", path.read_text())}
    assert calls == set()


def test_sql_is_found_where_it_is() -> None:
    said = 'rows = table.query(f"SELECT {shown} FROM t")\n'
    assert [text for text in texts(said) if SQL.search(text)] == ["SELECT "]
    assert any(SQL.search(text) for path in (FOLDER / "index").glob("*.py") for text in texts(path.read_text()))
