"""Build and unpack the package once. Each module starts its own apps from it."""

from pathlib import Path

import pytest

from tests.functions.host import unpacked


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the platform would run."""
    return unpacked(tmp_path_factory.mktemp("package"))
