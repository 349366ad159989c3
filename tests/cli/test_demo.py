"""`make demo` on a terminal after its pipeline has run: it serves until Ctrl-C."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from bench import usefulness
from demo.run import add_rules
from headwater.lineage.rules.user_rules_text import read_consumers

pytestmark = pytest.mark.slow

_DEMO = """
import os
import sys
from pathlib import Path
from rich.console import Console
from demo.run import declare_lineage, headwater, keep_serving

os.login_tty(0)
with headwater(Path(sys.argv[1])) as up:
    declare_lineage(up.url)
    keep_serving(Console(width=200, highlight=False), up)
"""
_CTRL_C = b"\x03"
_BROWSER = {"accept": "text/html"}


def test_on_a_terminal_it_serves_the_page_until_ctrl_c_and_then_nothing_of_it_is_left(tmp_path: Path) -> None:
    terminal, its_side = pty.openpty()
    command = [sys.executable, "-c", _DEMO, str(tmp_path / "data")]
    with subprocess.Popen(command, stdin=its_side, stdout=its_side, stderr=its_side) as demo:
        os.close(its_side)
        try:
            told = _read_until(terminal, "/connect")
            assert re.search(r"lineage +│ declared +│ 4 ", told), told
            url = re.search(r"The dashboard is at (\S+)/ ", told)
            assert url, told
            addresses = re.findall(r"^ +(http\S+)", told, re.MULTILINE)
            assert len(addresses) == 3
            for address in (url[1], *addresses):
                assert "Headwater" in httpx.get(address, headers=_BROWSER, timeout=60).raise_for_status().text
            children = psutil.Process(demo.pid).children(recursive=True)
            assert children
            os.write(terminal, _CTRL_C)
            assert "Headwater is stopping." in _read_until(terminal, "stopping.")
            assert demo.wait(60) == 0
            assert not psutil.wait_procs(children, timeout=60)[1]
        finally:
            demo.kill()
            os.close(terminal)


def test_the_demos_consumers_are_rules_and_a_file_that_is_there_stays(tmp_path: Path) -> None:
    add_rules(tmp_path)
    file = tmp_path / "rules" / "consumers.yaml"
    assert {each.consumer for each in read_consumers(file.read_text(), file.name)} >= {"Newsletter", "Call centre"}
    file.write_text("version: 1\nconsumers: []\n")
    add_rules(tmp_path)
    assert read_consumers(file.read_text(), file.name) == ()


def test_the_demo_as_delivered_leaves_at_most_a_tenth_of_its_columns_unknown() -> None:
    delivered = [each for each in usefulness.run([usefulness.DEMO]) if "delivers" in each.name]
    assert [each.goal for each in delivered] == [usefulness.MOST_UNKNOWN]
    assert delivered[0].value <= usefulness.MOST_UNKNOWN


def _read_until(terminal: int, text: str) -> str:
    found = ""
    while text not in found:
        found += os.read(terminal, 65_536).decode().replace("\r\n", "\n")
    return found
