"""Analyse Kusto queries with Microsoft's language service (npm `@kusto/language-service-next`) in a Node process."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tools.npm_packages import CACHE, node

_ANALYSER = CACHE / "node_modules" / "@kusto" / "language-service-next"
_ASK = Path(__file__).with_suffix(".cjs")


def findings(tables: Mapping[str, str], queries: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the errors of each query; tables: their columns in Kusto's syntax, `(Message: string, …)`.

    Raises Missing.
    """
    command = [*node(_ASK), str(_ANALYSER)]
    asked = json.dumps({"tables": dict(tables), "queries": dict(queries)})
    done = subprocess.run(command, check=True, input=asked, stdout=subprocess.PIPE, text=True)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found
