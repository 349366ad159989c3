"""Select test parameters: `make test` runs a few, `make torture` runs all."""

from collections.abc import Iterable
from typing import Any

import pytest


def few_of(every: Iterable[object], few: int) -> list[Any]:
    """Return test parameters, with all after the first `few` marked as `long`."""
    return [each if number < few else pytest.param(each, marks=pytest.mark.long) for number, each in enumerate(every)]
