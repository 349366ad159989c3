"""The `headwater` command. It prints tables, or JSON with `--json`.

Exit statuses: 0 success, 1 a negative answer, 2 wrong usage, 3 failure.
"""

import sys
from collections.abc import Sequence

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]  # public all the same

from headwater.cli.base_app import COMPLETE, NAME, base_app
from headwater.cli.errors import print_failure, print_fault
from headwater.cli.options import add_table_options
from headwater.common.errors import HeadwaterError
from headwater.common.extras import require_extra
from headwater.common.storage_faults import transient_faults_as_retry
from headwater.operations.runtime.data_folder import set_private_umask


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. arguments: the default is `sys.argv[1:]`.

    A HeadwaterError prints one line on standard error and exits with status 3. With `--json`, the line is the JSON
    body of an HTTP error.
    """
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    set_private_umask()
    try:
        with transient_faults_as_retry("continue"):
            completion_init()
            sys.exit(_choose_commands(given)(given, prog_name=NAME, complete_var=COMPLETE, standalone_mode=not as_json))
    except HeadwaterError as error:
        print_failure(error, as_json)
        sys.exit(3)
    except typer.TyperException as error:  # wrong usage; typer raises this error only with --json
        print_failure(error, as_json)
        sys.exit(error.exit_code)
    except (BrokenPipeError, typer.Abort):
        raise
    except Exception as error:
        print_fault(error, as_json)
        sys.exit(1)


def _choose_commands(given: Sequence[str]) -> typer.Typer:
    """Return the command line with the commands that these arguments need.

    Commands that answer questions import the rules of lineage, which takes half a second of CPU. Simple commands
    do not need the rules.
    """
    light = base_app()
    if given and given[0] in {"--version", *(each.name for each in light.registered_commands)}:
        add_table_options(light)
        return light
    with require_extra("server"):
        from headwater.cli.app import app
    return app
