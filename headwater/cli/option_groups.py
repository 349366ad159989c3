"""Declare the options of several commands once, as a named tuple."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

_T = TypeVar("_T")


def with_options(options: type[_T]) -> Callable[[Callable[[_T], None]], Callable[..., None]]:
    """Turn a function of one named tuple into a command with an option for each field.

    options: a named tuple whose fields are annotated for typer.
    """

    def declare(command: Callable[[_T], None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            command(options(**given))

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = get_type_hints(options, include_extras=True)
        run.__signature__ = inspect.signature(options)  # type: ignore[attr-defined]
        return run

    return declare
