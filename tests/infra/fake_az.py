#!/usr/bin/env python3
"""A stand-in for `az` and `azd` with Azure's two rules for a budget's start. FAKE_AZURE is its folder."""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

FOLDER = Path(os.environ["FAKE_AZURE"])
BUDGET = FOLDER / "budget.json"


def refuse(message: str) -> None:
    sys.stderr.write(f"ERROR: {message}\n")
    sys.exit(1)


def show_budget() -> None:
    """Answer like `az consumption budget show-with-rg`, the command for the budget of a resource group."""
    if (FOLDER / "signed_out").exists():
        refuse("Please run 'az login' to setup account.")
    if not BUDGET.exists():
        refuse("(404) Budget with name 'hw' not found.")
    sys.stdout.write(json.dumps({"name": "hw", "timePeriod": json.loads(BUDGET.read_text())}))


def deploy() -> None:
    """Create or update the budget from BUDGET_FROM, as infra/bicep does."""
    start = os.environ.get("BUDGET_FROM", "")
    if int(os.environ.get("MONTHLY_BUDGET", "0")) > 0:
        if BUDGET.exists():
            if json.loads(BUDGET.read_text())["startDate"][:10] != start:
                refuse("(400) Budget start date cannot be changed.")
        elif start < datetime.now(UTC).strftime("%Y-%m-01"):
            refuse("(400) Budget start date must not be before the current month.")
        else:
            BUDGET.write_text(json.dumps({"startDate": f"{start}T00:00:00Z"}))
    names = ("receiverUrl", "receiverApp", "pipelineApp", "sinksApp")
    sys.stdout.write(json.dumps({name: {"value": name} for name in names}))


def set_variable(name: str, value: str) -> None:
    """Store a variable, as `azd env set` does."""
    with (FOLDER / "azd.env").open("a") as file:
        file.write(f"{name}={value}\n")


match sys.argv[1:]:
    case ["consumption", "budget", "show-with-rg", "--budget-name", "hw", "--resource-group", "headwater", *_]:
        show_budget()
    case ["deployment", "group", "create" | "what-if", *_]:
        deploy()
    case ["env", "set", name, value]:
        set_variable(name, value)
    case _:
        refuse(f"unknown command {sys.argv[1:]}")
