"""Build Prometheus' promtool, which checks alert rules, from its Go module into `.cache/promtool/`.

Only the long test needs it: `python -m tools.promtool` builds it with an installed Go. `GOPROXY` and `GOSUMDB` apply.
"""

import os
import shutil
import subprocess
import sys

from tools.locked_environment import ROOT

VERSION = "v0.316.0"
"""Version of the Go module; corresponds to Prometheus 3.16."""

HOME = ROOT / ".cache" / "promtool" / VERSION
_MODULE = "github.com/prometheus/prometheus/cmd/promtool"
_TIMEOUT_S = 3600


def run(*arguments: str) -> str:
    """Run promtool and return its output. Raises ValueError with the output if it fails."""
    command = [build(), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"promtool {' '.join(arguments)} failed: {done.stdout}{done.stderr}")
    return done.stdout


def build() -> str:
    """Return the path of promtool; builds it if it is missing. Raises ValueError if Go is not installed."""
    program = HOME / "promtool"
    if not program.exists():
        go = shutil.which("go")
        if not go:
            raise ValueError("Go, which builds promtool, is missing. Install Go 1.26 or newer.")
        # exclude service discovery, whose client libraries are most of the code
        command = [go, "install", "-p", "1", "-tags", "remove_all_sd", f"{_MODULE}@{VERSION}"]
        environment = {**os.environ, "GOBIN": str(HOME), "CGO_ENABLED": "0"}
        subprocess.run(command, check=True, env=environment, timeout=_TIMEOUT_S)
    return str(program)


if __name__ == "__main__":
    sys.stdout.write(f"promtool: {build()}\n")
