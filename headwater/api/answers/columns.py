"""Answers about single columns: who may read them, who needs them, and what they are called."""

from typing import Any, Literal

from headwater.api.answers.parts import Column, Count, Dataset, Job, Shape, Transformation


class SurfaceItem(Shape):
    """A column that may hold a tagged value; `how` is a reason in words where nobody says."""

    namespace: str
    dataset: str
    column: str | None
    exposure: Literal["exposed", "unknown", "masked"]
    how: Transformation | str
    source: Column | None
    via: dict[str, Any] | None


class Surface(Shape):
    """The masking surface."""

    tag: str
    sources: list[Column]
    items: list[SurfaceItem]
    exposures: dict[str, int]
    totalCount: Count  # noqa: N815 - as the answer has it
    truncated: bool


class Verdict(Shape):
    """Whether a column may be dropped."""

    namespace: str
    dataset: str
    column: str | None
    verdict: Literal["used", "unused", "unknown"]
    reason: str | None
    caveats: list[str]
    read_by: list[Job]
    consumers: list[str]
    also_read_by: list[Job]
    observed_since: str | None
    last_used: str | None


class Unused(Shape):
    """Columns with verdicts."""

    items: list[Verdict]
    verdicts: dict[str, int]
    totalCount: Count  # noqa: N815
    truncated: bool


class NameStep(Shape):
    """What one rule made of a name."""

    rule: str
    namespace: str
    name: str
    why: str


class Names(Shape):
    """Which dataset a name means."""

    canonical: Job
    rules_hash: str
    items: list[NameStep]


class Rules(Shape):
    """Which rules are in force."""

    rules_hash: str
    names_hash: str
    indexed: bool
    tags: Count
    masking: Count
    consumers: Count
    problems: list[str]


class Found(Shape):
    """Something that is called so."""

    kind: Literal["job", "dataset", "alias", "column", "tag"]
    namespace: str
    name: str
    column: str | None
    tag: str | None
    means: Dataset | None
    match: Literal["exact", "prefix", "word", "part", "parent", "similar"]
    uses: Count
    last_seen: str | None


class SearchAnswer(Shape):
    """What was found, best first."""

    items: list[Found]
    totalCount: Count  # noqa: N815
    truncated: bool
