"""A skipped test fails the run: nothing here may be left out silently."""

import pytest


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn a green run with skips into a red one; the reasons are printed by `-ra`."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
