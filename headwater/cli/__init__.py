"""The command line. Tables for people, `--json` for programs; exit status 0 well, 1 answered no, 2 usage, 3 failed."""

import sys
from collections.abc import Sequence

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]  # public all the same

from headwater.cli.base_commands import COMPLETE, NAME, base_app
from headwater.cli.failing import say_failure, say_fault
from headwater.cli.options import offer_tables
from headwater.errors import HeadwaterError
from headwater.extras import extra
from headwater.runtime.private import keep_private
from headwater.storage_faults import on_disk


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. arguments: default are the process's.

    Our own errors become one line on standard error and status 3; with `--json` it is the body of a refusal.
    """
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    keep_private()
    try:
        with on_disk("go on"):
            completion_init()
            sys.exit(_app_for(given)(given, prog_name=NAME, complete_var=COMPLETE, standalone_mode=not as_json))
    except HeadwaterError as error:
        say_failure(error, as_json)
        sys.exit(3)
    except typer.TyperException as error:  # only with --json: wrong use of the command line
        say_failure(error, as_json)
        sys.exit(error.exit_code)
    except (BrokenPipeError, typer.Abort):
        raise
    except Exception as error:
        say_fault(error, as_json)
        sys.exit(1)


def _app_for(given: Sequence[str]) -> typer.Typer:
    """Import no more than a command needs: those of questions bring the rules of lineage, half a second of CPU."""
    light = base_app()
    if given and given[0] in {"--version", *(each.name for each in light.registered_commands)}:
        offer_tables(light)
        return light
    with extra("server"):
        from headwater.cli.commands import app
    return app
