"""Why a command failed: a line for people, or, for programs, the body that HTTP refuses with."""

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from headwater.cli.wording import safe
from headwater.errors import Behind, GiveUp, HeadwaterError, InvalidEvent, NotKnown, ServerRefusal, WrongQuestion


def say_failure(error: Exception, as_json: bool) -> None:
    """Print why on standard error, in one line."""
    text = json.dumps(_body(error), ensure_ascii=False) if as_json else f"headwater: {safe(str(error))}"
    sys.stderr.write(f"{text}\n")


def say_fault(error: Exception, as_json: bool) -> None:
    """Print that a fault of Headwater ended the command, and where its traceback is.

    The traceback goes into a file of its own, not to standard error: it may quote what the terminal's log may not hold.
    """
    descriptor, file = tempfile.mkstemp(prefix="headwater-fault-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as text:
        traceback.print_exception(error, file=text)
    reference = Path(file).stem.rpartition("-")[2]
    what = f"The command failed because of a fault of Headwater's own, reference {reference}."
    fix = f"Running it again does not help. Report the fault with its traceback, which is in {file}."
    body = {"error": what, "field": None, "fix": fix}
    line = json.dumps(body, ensure_ascii=False) if as_json else f"headwater: {what} {safe(fix)}"
    sys.stderr.write(f"{line}\n")


def warn(text: str) -> None:
    """Print a line beside the answer."""
    sys.stderr.write(f"headwater: {safe(text)}\n")


def _body(error: Exception) -> dict[str, Any]:
    """Return `error`, `field` and `fix`; of what a server refused, and of questions, what HTTP says."""
    if isinstance(error, ServerRefusal):
        return dict(error.said)
    if isinstance(error, WrongQuestion | NotKnown | Behind):
        from headwater.api.refusing import refusal  # brings a web server

        return refusal(error)[1]
    if isinstance(error, InvalidEvent):
        return {"error": error.what, "field": error.field, "fix": error.fix}
    if not isinstance(error, HeadwaterError):
        return {"error": str(error), "field": None, "fix": "Write it as `--help` of the command says."}
    fix = _CORRECT if isinstance(error, GiveUp) else "Run the same command again."
    return {"error": str(error), "field": None, "fix": fix}


_CORRECT = "Correct what `error` names; the same command would fail again."
