"""Report the CPU time of each test file: `pytest -p tests.support.cpu_costs FILES`, without `--numprocesses`.

The CPU time includes all processes that a test starts, such as Java. Unlike the time of a clock, it depends little on
what else the machine does.
"""

import ctypes
from collections import defaultdict
from collections.abc import Generator
from operator import itemgetter

import psutil
import pytest

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: processes whose parent was killed become ours, and still count
_MOST_LINES = 40

ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
_costs: defaultdict[str, float] = defaultdict(float)


def tree_cpu_s() -> float:
    """Return the CPU seconds that this process and all processes below it have used, ended ones included."""
    found, own = 0.0, psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        try:
            found += sum(process.cpu_times()[:4])  # user and system, and both of the children that have ended
        except psutil.NoSuchProcess:
            continue
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Count a test with its setup and teardown. A shared fixture counts for the first test that requests it."""
    before = tree_cpu_s()
    found = yield
    _costs[item.nodeid.split("::", 1)[0]] += tree_cpu_s() - before
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the files that cost most."""
    terminalreporter.section(f"CPU time: {sum(_costs.values()):.0f} s")
    for file, cpu_s in sorted(_costs.items(), key=itemgetter(1), reverse=True)[:_MOST_LINES]:
        terminalreporter.write_line(f"{cpu_s:8.1f} s  {file}")
