"""Print the settings of one deployment as NAME=VALUE lines: `python -m tools.azure_environment azure`.

Deployment, what-if and CI read the settings from infra/environments/NAME.json. The variables of a GitHub environment
(GITHUB_VARS, as JSON) complete them. If both contain a setting with different values, the program fails.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.function_zip import ROOT

BUDGET = "hw"
"""The budget's name: the default of `prefix` in main.bicep."""
SECRETS = {"RECEIVER_KEYS", "PIPELINE_KEYS", "NOTEBOOK_WRITE_KEY", "NOTEBOOK_READ_KEY"}
_BICEP = ROOT / "infra" / "bicep"


class WrongEnvironmentError(Exception):
    """The settings cannot be deployed. The message names the setting and the fix."""


def known_settings() -> set[str]:
    """Return the names that the parameter files read, without secrets, plus TIER, which selects the file."""
    texts = (path.read_text(encoding="utf-8") for path in _BICEP.glob("*.bicepparam"))
    return {"TIER"} | {
        name for text in texts for name in re.findall(r"readEnvironmentVariable\('(\w+)'", text)
    } - SECRETS


def read_environment(path: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Merge an environment's file with GitHub's variables; raises WrongEnvironmentError."""
    if not path.exists():
        raise WrongEnvironmentError(f"{path} does not exist. Each environment has a file there: copy azure.json.")
    known, stored = known_settings(), json.loads(path.read_text(encoding="utf-8"))
    if unknown := sorted(stored.keys() - known):
        raise WrongEnvironmentError(
            f"{path} has unknown settings: {', '.join(unknown)}. Use one of {', '.join(sorted(known))}."
        )
    settings = {name: _text(value) for name, value in stored.items()}
    for name in known & variables.keys():
        if settings.setdefault(name, variables[name]) != variables[name]:
            raise WrongEnvironmentError(
                f"{name} is {settings[name]} in {path.name}, but {variables[name]} in GitHub's variables. "
                "A deployment must not choose between them. Delete the variable or the line."
            )
    tier = settings.setdefault("TIER", "small")
    if not (_BICEP / f"{tier}.bicepparam").exists():
        raise WrongEnvironmentError(f"TIER is {tier}, which has no file in infra/bicep. Use small or standard.")
    return settings


def check_combination(settings: Mapping[str, str]) -> None:
    """Raise WrongEnvironmentError for contradicting settings; main.bicep rejects the same ones."""
    closed = settings.get("PRIVATE_NETWORK", "false") == "true"
    if settings.get("PRIVATE_INGRESS", "false") == "true" and not closed:
        raise WrongEnvironmentError(
            "PRIVATE_INGRESS needs the network that PRIVATE_NETWORK=true creates. Set both or neither."
        )
    if json.loads(settings.get("FABRIC_WORKSPACES") or "[]") and not closed:
        raise WrongEnvironmentError(
            "FABRIC_WORKSPACES opens the firewall that PRIVATE_NETWORK=true closes. Set both or neither."
        )
    if wants_budget(settings) and not settings.get("ALERT_EMAIL"):
        raise WrongEnvironmentError("MONTHLY_BUDGET sends mail to ALERT_EMAIL, which is not set. Set both or neither.")


def wants_budget(settings: Mapping[str, str]) -> bool:
    """Return whether a deployment with these settings has a budget."""
    return int(settings.get("MONTHLY_BUDGET") or 0) > 0


def budget_start(settings: Mapping[str, str], group: str, subscription: str = "") -> str:
    """Return the first day of the budget: that of the existing budget, or the current month or a later setting.

    Azure rejects a change of an existing budget's start, and a new start before the current month.
    """
    command = ["az", "consumption", "budget", "show-with-rg", "--budget-name", BUDGET, "--resource-group", group]
    command += ["--subscription", subscription] if subscription else []
    try:
        done = subprocess.run([*command, "--output", "json"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise WrongEnvironmentError(
            "The Azure CLI (`az`), which reads the existing budget, is missing. Install it."
        ) from None
    if done.returncode == 0:
        start: str = json.loads(done.stdout)["timePeriod"]["startDate"]
        return start[:10]
    if not re.search(r"\b404\b|NotFound|not found", done.stderr):
        raise WrongEnvironmentError(
            f"Azure CLI cannot read the existing budget: {done.stderr.strip()}. Sign in and try again."
        )
    return max(settings.get("BUDGET_FROM", ""), _this_month())


def _this_month() -> str:
    return datetime.now(UTC).strftime("%Y-%m-01")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def main() -> None:
    """Print the settings of an environment; exits with the reason if they cannot be deployed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="environment: a file in infra/environments")
    parser.add_argument(
        "--offline", action="store_true", help="do not query the existing budget (CI without a subscription)"
    )
    parser.add_argument("--write", action="store_true", help="write the start of the budget to the file")
    chosen = parser.parse_args()
    path = ROOT / "infra" / "environments" / f"{chosen.name}.json"
    try:
        settings = read_environment(path, json.loads(os.environ.get("GITHUB_VARS") or "{}"))
        check_combination(settings)
        if wants_budget(settings):
            group, subscription = (
                os.environ.get("AZURE_RESOURCE_GROUP", ""),
                os.environ.get("AZURE_SUBSCRIPTION_ID", ""),
            )
            settings["BUDGET_FROM"] = (
                settings.get("BUDGET_FROM") or _this_month()
                if chosen.offline
                else budget_start(settings, group, subscription)
            )
    except WrongEnvironmentError as error:
        sys.exit(str(error))
    if chosen.write and "BUDGET_FROM" in settings:
        stored = json.loads(path.read_text(encoding="utf-8")) | {"BUDGET_FROM": settings["BUDGET_FROM"]}
        path.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
    for name, value in sorted(settings.items()):
        print(f"{name}={value}")


if __name__ == "__main__":
    main()
