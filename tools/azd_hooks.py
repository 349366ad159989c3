"""Run the hooks of azure.yaml on POSIX and Windows: `python -m tools.azd_hooks preprovision` or `prepackage`."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.azure_environment import SECRETS, WrongEnvironmentError, budget_start, check_combination, wants_budget
from tools.function_zip import DASHBOARD, write_folders

_EXAMPLE = '[{"name": "spark", "key": "at-least-8-characters", "roles": ["write"]}]'


def preprovision() -> None:
    """Check keys and settings, and store the start of the budget in azd's environment.

    Keys must not be in azd's environment file, because azd stores it as plain text.
    """
    file = Path(".azure") / os.environ["AZURE_ENV_NAME"] / ".env"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    stored = [name for name in sorted(SECRETS) if re.search(rf"(?m)^{name}=", text)]
    if stored:
        sys.exit(
            f"{file} contains keys: {' '.join(stored)}. azd stores this file as plain text. Remove these lines, "
            "replace the keys if others can read the file, and export them in the shell instead."
        )
    for name in ("RECEIVER_KEYS", "PIPELINE_KEYS"):
        if not os.environ.get(name):
            sys.exit(
                f"{name} is not set. The vault gets its value from this shell. Export it: "
                "docs/how-to/platform-operator/azure.md, Deploying."
            )
        if not _is_list(os.environ[name]):
            sys.exit(
                f"{name} is not a JSON list. The apps read it as a list of keys. Export a list such as '{_EXAMPLE}'."
            )
    try:
        check_combination(os.environ)
        if wants_budget(os.environ):
            group, subscription = os.environ["AZURE_RESOURCE_GROUP"], os.environ.get("AZURE_SUBSCRIPTION_ID", "")
            start = budget_start(os.environ, group, subscription)
            subprocess.run(["azd", "env", "set", "BUDGET_FROM", start], check=True)
    except WrongEnvironmentError as error:
        sys.exit(str(error))


def prepackage() -> None:
    """Build the dashboard and write the two folders that azd packages."""
    if make := shutil.which("make"):
        subprocess.run([make, "web"], check=True)
    elif not DASHBOARD.exists():
        sys.exit(
            "The dashboard is not built: this machine has no `make`. Run `make web` in WSL or Git Bash, then repeat."
        )
    for folder, count in write_folders().items():
        print(f"{folder}: {count} files")


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


if __name__ == "__main__":
    {"preprovision": preprovision, "prepackage": prepackage}[sys.argv[1]]()
