"""Print why a command failed: one line of text, or with `--json` the JSON body of an HTTP error."""

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from headwater.cli.text_format import escape_unprintable
from headwater.common.errors import Behind, GiveUp, HeadwaterError, InvalidEvent, NotKnown, ServerRefusal, WrongQuestion


def print_failure(error: Exception, as_json: bool) -> None:
    """Print an expected error on standard error, in one line."""
    text = (
        json.dumps(_error_members(error), ensure_ascii=False)
        if as_json
        else f"headwater: {escape_unprintable(str(error))}"
    )
    sys.stderr.write(f"{text}\n")


def print_fault(error: Exception, as_json: bool) -> None:
    """Print that a bug in Headwater ended the command, and the path of its traceback.

    The traceback may quote secrets or personal data, so it goes to a private file and not to standard error.
    """
    descriptor, file = tempfile.mkstemp(prefix="headwater-fault-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as text:
        traceback.print_exception(error, file=text)
    reference = Path(file).stem.rpartition("-")[2]
    what = f"The command failed because of a bug in Headwater, reference {reference}."
    fix = f"Running it again does not help. Report the bug with its traceback, which is in {file}."
    body = {"error": what, "field": None, "fix": fix}
    line = json.dumps(body, ensure_ascii=False) if as_json else f"headwater: {what} {escape_unprintable(fix)}"
    sys.stderr.write(f"{line}\n")


def warn(text: str) -> None:
    """Print a warning on standard error."""
    sys.stderr.write(f"headwater: {escape_unprintable(text)}\n")


def _error_members(error: Exception) -> dict[str, Any]:
    """Return the members `error`, `field` and `fix` of an error, as in the body of an HTTP error."""
    if isinstance(error, ServerRefusal):
        return dict(error.body)
    if isinstance(error, WrongQuestion | NotKnown | Behind):
        from headwater.api.responses import error_body  # imports a web server

        return error_body(error)[1]
    if isinstance(error, InvalidEvent):
        return {"error": error.what, "field": error.field, "fix": error.fix}
    if not isinstance(error, HeadwaterError):
        return {"error": str(error), "field": None, "fix": "See the usage with `--help`."}
    fix = _CORRECT if isinstance(error, GiveUp) else "Run the same command again."
    return {"error": str(error), "field": None, "fix": fix}


_CORRECT = "Fix the problem that `error` names; otherwise the same command fails again."
