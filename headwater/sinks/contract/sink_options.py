"""What `sinks.yml` says of every sink, whatever its target; each target adds options of its own."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from headwater.durations import seconds
from headwater.errors import WrongSetting
from headwater.events.stored_cells import StoredHead


class Part(BaseModel):
    """A mapping of the file; a key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reference(Part):
    """A secret by where it lies: it is never in the file itself."""

    env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="Variable that holds it.")
    vault: str | None = Field(
        None, pattern=r"^https://[^/?#@]+/secrets/[\w-]+(/\w+)?$", description="Address of a secret in Azure Key Vault."
    )


def _reference(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError("a secret is not written into this file; write `{env: VARIABLE}` or `{vault: ADDRESS}`")
    if len(value) != 1:
        raise ValueError("name one place of the secret, `env` or `vault`")
    if str(value.get("env", "")).startswith("HEADWATER_"):
        raise ValueError("variables `HEADWATER_…` are settings; name the secret's variable otherwise")
    return value


SecretReference = Annotated[Reference, BeforeValidator(_reference)]
Place = Annotated[str, Field(pattern=r"^(abfss://[^/@\s]+@[^/\s]+/.+|s3://[^/@\s]+/.+|[^:]+)$")]
"""A folder, or an address in Azure's storage or in S3."""
Patterns = tuple[str, ...]


def _seconds(value: Any) -> float:
    try:
        return seconds(str(value))
    except WrongSetting as error:
        raise ValueError(str(error)) from error


def _pause(value: Any) -> float:
    return 0.0 if str(value) in ("0", "0s", "0ms", "0m", "0h", "0d", "0.0") else _seconds(value)


Seconds = Annotated[float, BeforeValidator(_seconds)]
Pause = Annotated[float, BeforeValidator(_pause)]
"""Seconds, or none."""


class Only(Part):
    """Which events a sink takes; patterns are exact names or have `*`, `?` and `[…]`. What is left out says nothing."""

    namespaces: Patterns = Field((), description="Namespaces of jobs.")
    jobs: Patterns = Field((), description="Names of jobs.")
    runs: Patterns = Field((), description="Ids of runs.")
    kinds: tuple[Literal["RUN", "JOB", "DATASET"], ...] = Field((), description="What events are about.")
    states: tuple[Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"], ...] = Field(
        (), description="States that run events report; events of jobs and datasets have none and stay."
    )

    def wants(self, head: StoredHead) -> bool:
        """Tell whether an event is one of these."""
        return (
            (not self.kinds or head.kind in self.kinds)
            and (not self.states or head.kind != "RUN" or head.state in self.states)
            and (not self.namespaces or _fits(head.job_namespace, self.namespaces))
            and (not self.jobs or _fits(head.job_name, self.jobs))
            and (not self.runs or _fits(head.run_id, self.runs))
        )


def _fits(name: str | None, patterns: Patterns) -> bool:
    return name is not None and any(fnmatchcase(name, pattern) for pattern in patterns)


class Silence(NamedTuple):
    """How long nothing must be heard of something until it is told; by_receipt: by our clock, not the sender's."""

    after_s: float
    by_receipt: bool


class Options(Part):
    """Every sink's options."""

    type: str = Field(description="Kind of target.")
    only: Only = Field(
        default_factory=lambda: Only.model_validate({}),
        description="Which events it takes: `namespaces`, `jobs`, `runs`, `kinds`, `states`.",
    )
    begin: Literal["start", "now"] = Field(
        "start", description="Where a new sink begins: with the lake's history or now."
    )
    rate: float | None = Field(None, gt=0, description="Most events a second.")
    every: Pause = Field(0.0, description="Least time between two batches, such as `1m`: larger batches.")

    @property
    def silence(self) -> Silence | None:
        """Which silence is told; None where events alone are."""
        return None

    @property
    def looks_every(self) -> float | None:
        """Seconds between two looks of the target itself at what it watches; None where it watches nothing."""
        return None


class Sink(NamedTuple):
    """One sink of the file."""

    name: str
    options: Options


Reveal = Callable[[Reference], str]
"""Returns a secret; raises WrongSetting naming the variable or the address where there is none."""


def revealed(values: Mapping[str, str | Reference], reveal: Reveal) -> dict[str, str]:
    """Return values with the secrets among them; raises WrongSetting."""
    return {name: reveal(value) if isinstance(value, Reference) else value for name, value in values.items()}
