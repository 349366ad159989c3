"""What `make test` takes a few of and `make torture` all."""

from collections.abc import Iterable
from typing import Any

import pytest


def few_of(every: Iterable[object], few: int) -> list[Any]:
    """Return parameters of a test, all behind the first few of them long."""
    return [each if number < few else pytest.param(each, marks=pytest.mark.long) for number, each in enumerate(every)]
