"""Run a command of the command line within the test process, which saves 0.5 s of CPU per call."""

import logging
import subprocess
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from headwater.cli import main


def commanded(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and return the same result as `tests.support.running.headwater`, which starts a process."""
    given, said, errors = [*map(str, arguments)], StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(cwd or Path.cwd()):
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        patch.setattr(logging.root, "handlers", [])  # pytest's handlers would keep warnings from standard error
        with redirect_stdout(said), redirect_stderr(errors), pytest.raises(SystemExit) as ended:
            main(given)
    return subprocess.CompletedProcess(given, int(ended.value.code or 0), said.getvalue(), errors.getvalue())
