"""A skipped test fails the run: nothing here may be left out silently."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.azurite import Storage


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn a green run with skips into a red one; the reasons are printed by `-ra`."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def storage() -> "Iterator[Storage]":
    """Give Azure's storage, as far as Azurite is it."""
    from tests.azurite import Storage

    with Storage() as started:
        yield started
