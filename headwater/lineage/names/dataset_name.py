"""The name of a dataset or job, and one step from a name as sent to its canonical form."""

import re
from hashlib import sha256
from typing import NamedTuple

LONGEST = 4096
"""Maximum characters of a namespace or name. Longer ones are shortened (rule 2.2), but bronze stores all of them."""

_HEAD, _TAIL = 2000, 1000

_LOCAL_PATH = re.compile(r"(file|dbfs):(?://)?(/(?!/).+)", re.DOTALL)
_LOCATION = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+://[^/]++)/*+(.*)", re.DOTALL)


class Name(NamedTuple):
    """The name of a dataset or job in OpenLineage's two parts, with the generation of a dataset (rule 10).

    generation: the key of the run that ended the previous generation, empty for the first generation and for names
    without generations.
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
        """The name, shortened in the middle if it is too long (rule 2.2). Different names stay different."""
        if len(self.namespace) <= LONGEST and len(self.name) <= LONGEST:
            return self
        return Name(_shorten(self.namespace), _shorten(self.name), self.generation)

    @property
    def shown(self) -> dict[str, str]:
        """The name as JSON answers contain it."""
        return {"namespace": self.namespace, "name": self.name}


class Step(NamedTuple):
    """The effect of one rule on a name; `why` is the explanation in the rule."""

    rule: str
    why: str
    before: Name
    after: Name


def _shorten(text: str) -> str:
    """Shorten a text in the middle and note that in the text, so that every answer and page shows it."""
    if len(text) <= LONGEST:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{text[:_HEAD]}…[cut: {len(text)} characters, sha256 {digest}]…{text[-_TAIL:]}"


def split_location(uri: str) -> Name | None:
    """Split a location such as `s3://bucket/a/b` or `dbfs:/mnt/a` into namespace and name; None for other texts."""
    found = _LOCAL_PATH.fullmatch(uri) or _LOCATION.fullmatch(uri)
    return Name(found[1], found[2] or "/") if found else None
