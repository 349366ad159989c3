"""The name of a dataset, and one step from a name as sent to its canonical form."""

import re
from hashlib import sha256
from typing import NamedTuple

LONGEST = 4096
"""Characters of a namespace or a name that are known whole; bronze has all of them."""

_HEAD, _TAIL = 2000, 1000

_LOCAL = re.compile(r"(file|dbfs):(?://)?(/(?!/).+)", re.DOTALL)
_LOCATION = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+://[^/]++)/*+(.*)", re.DOTALL)


class Name(NamedTuple):
    """A dataset's name in OpenLineage's two parts, and which of its generations is meant (rule 10).

    generation: key of the run that ended the one before; empty for the first, and where none is meant.
    """

    namespace: str
    name: str
    generation: str = ""

    @property
    def plain(self) -> "Name":
        """The name without a generation."""
        return Name(self.namespace, self.name) if self.generation else self

    @property
    def parts(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def cut(self) -> "Name":
        """The name without the middle of what is too long; the same for the same name, another for another."""
        if len(self.namespace) <= LONGEST and len(self.name) <= LONGEST:
            return self
        return Name(_cut(self.namespace), _cut(self.name), self.generation)

    @property
    def shown(self) -> dict[str, str]:
        """The name as JSON shows it."""
        return {"namespace": self.namespace, "name": self.name}


class Step(NamedTuple):
    """What one rule did to a name; `why` is the rule's own sentence."""

    rule: str
    why: str
    before: Name
    after: Name


def _cut(text: str) -> str:
    """Say in the text itself that it is cut, so that every answer and page shows it; its last part stays."""
    if len(text) <= LONGEST:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{text[:_HEAD]}…[cut: {len(text)} characters, sha256 {digest}]…{text[-_TAIL:]}"


def split_location(uri: str) -> Name | None:
    """Split a location such as `s3://bucket/a/b` or `dbfs:/mnt/a` into namespace and name; None where it is none."""
    found = _LOCAL.fullmatch(uri) or _LOCATION.fullmatch(uri)
    return Name(found[1], found[2] or "/") if found else None
