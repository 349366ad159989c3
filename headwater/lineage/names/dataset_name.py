"""The name of a dataset or job, and the step by which one rule changes a name."""

import re
from hashlib import sha256
from typing import NamedTuple

MAX_LENGTH = 4096
"""The maximum length of a namespace or name in characters. Longer names are shortened (rule 2.2), except in bronze."""

_HEAD, _TAIL = 2000, 1000

_LOCAL_PATH = re.compile(r"(file|dbfs):(?://)?(/(?!/).+)", re.DOTALL)
_LOCATION = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+://[^/]++)/*+(.*)", re.DOTALL)


class Name(NamedTuple):
    """The namespace and name of a dataset or job, as in OpenLineage, and the generation of a dataset (rule 10).

    generation: the key of the run that ended the previous generation; empty for the first generation and for names
    without generations.
    """

    namespace: str
    name: str
    generation: str = ""

    @property
    def without_generation(self) -> "Name":
        """The name without a generation."""
        return Name(self.namespace, self.name) if self.generation else self

    @property
    def parts(self) -> tuple[str, str]:
        """The pair (namespace, name)."""
        return self.namespace, self.name

    @property
    def shortened(self) -> "Name":
        """The name, shortened in the middle if it is too long (rule 2.2). Different names stay different."""
        if len(self.namespace) <= MAX_LENGTH and len(self.name) <= MAX_LENGTH:
            return self
        return Name(_shorten(self.namespace), _shorten(self.name), self.generation)

    @property
    def as_json(self) -> dict[str, str]:
        """The JSON object that represents the name in answers, without the generation."""
        return {"namespace": self.namespace, "name": self.name}


class Step(NamedTuple):
    """The effect of one rule on a name.

    rule: the id of the rule. why: the explanation in the rule. before, after: the name before and after the rule.
    """

    rule: str
    why: str
    before: Name
    after: Name


def _shorten(text: str) -> str:
    """Replace the middle of a text that is too long with a note of its length and hash, which all answers show."""
    if len(text) <= MAX_LENGTH:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{text[:_HEAD]}…[cut: {len(text)} characters, sha256 {digest}]…{text[-_TAIL:]}"


def split_location(uri: str) -> Name | None:
    """Split a location such as `s3://bucket/a/b` or `dbfs:/mnt/a` into namespace and name; None for other texts."""
    found = _LOCAL_PATH.fullmatch(uri) or _LOCATION.fullmatch(uri)
    return Name(found[1], found[2] or "/") if found else None
