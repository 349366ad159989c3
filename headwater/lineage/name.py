"""The name of a dataset, and one step from a name as sent to its canonical form."""

import re
from typing import NamedTuple

_LOCAL = re.compile(r"(file|dbfs):(?://)?(/(?!/).+)", re.DOTALL)
_LOCATION = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+://[^/]++)/*+(.*)", re.DOTALL)


class Name(NamedTuple):
    """A dataset's name in OpenLineage's two parts."""

    namespace: str
    name: str


class Step(NamedTuple):
    """What one rule did to a name; `why` is the rule's own sentence."""

    rule: str
    why: str
    before: Name
    after: Name


def split_location(uri: str) -> Name | None:
    """Split a location such as `s3://bucket/a/b` or `dbfs:/mnt/a` into namespace and name; None where it is none."""
    found = _LOCAL.fullmatch(uri) or _LOCATION.fullmatch(uri)
    return Name(found[1], found[2] or "/") if found else None
