"""Options in `sinks.yml` that every sink has; each target adds its own."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from headwater.common.durations import parse_duration_s
from headwater.common.errors import WrongSetting
from headwater.events.stored_cells import StoredHead


class ConfigModel(BaseModel):
    """A mapping in `sinks.yml`; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SecretLocation(ConfigModel):
    """Where to read a secret from: a variable or a key vault. `sinks.yml` never contains the secret itself."""

    env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="Variable that contains it.")
    vault: str | None = Field(
        None, pattern=r"^https://[^/?#@]+/secrets/[\w-]+(/\w+)?$", description="Address of a secret in Azure Key Vault."
    )


def _parse_secret_location(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError("the file must not contain a secret; write `{env: VARIABLE}` or `{vault: ADDRESS}`")
    if len(value) != 1:
        raise ValueError("a secret needs exactly one source, `env` or `vault`; remove the other keys")
    if str(value.get("env", "")).startswith("HEADWATER_"):
        raise ValueError("variables `HEADWATER_…` are reserved for settings; choose another name for the variable")
    return value


SecretReference = Annotated[SecretLocation, BeforeValidator(_parse_secret_location)]
StorageLocation = Annotated[str, Field(pattern=r"^(abfss://[^/@\s]+@[^/\s]+/.+|s3://[^/@\s]+/.+|[^:]+)$")]
"""A folder, or an address in Azure storage or S3."""
BARE_ADDRESS = r"^https?://[^/?#@\s]+(/[^?#@\s]*)?$"
"""Pattern of an address without credentials and without `?`."""
Patterns = tuple[str, ...]


def _parse_seconds(value: Any) -> float:
    try:
        return parse_duration_s(str(value))
    except WrongSetting as error:
        raise ValueError(str(error)) from error


def _parse_pause_s(value: Any) -> float:
    return 0.0 if str(value) in ("0", "0s", "0ms", "0m", "0h", "0d", "0.0") else _parse_seconds(value)


Seconds = Annotated[float, BeforeValidator(_parse_seconds)]
Pause = Annotated[float, BeforeValidator(_parse_pause_s)]
"""A duration in seconds; unlike `Seconds`, zero is allowed."""


class EventFilter(ConfigModel):
    """Which events a sink takes. Patterns are exact names or contain `*`, `?` and `[…]`; an empty field matches all."""

    namespaces: Patterns = Field((), description="Namespaces of jobs.")
    jobs: Patterns = Field((), description="Names of jobs.")
    runs: Patterns = Field((), description="Ids of runs.")
    kinds: tuple[Literal["RUN", "JOB", "DATASET"], ...] = Field((), description="Kinds of events.")
    states: tuple[Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"], ...] = Field(
        (), description="States of run events; events of jobs and datasets have no state and always pass."
    )

    def matches(self, head: StoredHead) -> bool:
        """Return whether the filter accepts an event."""
        return (
            (not self.kinds or head.kind in self.kinds)
            and (not self.states or head.kind != "RUN" or head.state in self.states)
            and (not self.namespaces or _matches_any(head.job_namespace, self.namespaces))
            and (not self.jobs or _matches_any(head.job_name, self.jobs))
            and (not self.runs or _matches_any(head.run_id, self.runs))
        )


def _matches_any(name: str | None, patterns: Patterns) -> bool:
    return name is not None and any(fnmatchcase(name, pattern) for pattern in patterns)


class Silence(NamedTuple):
    """How long a run must be silent before the sink reports it.

    after_s: seconds since the run's last event. by_receipt: whether this time is measured from the receipt of the
    event, instead of from its event time.
    """

    after_s: float
    by_receipt: bool


class Options(ConfigModel):
    """Options that every sink has."""

    type: str = Field(description="Kind of target.")
    only: EventFilter = Field(
        default_factory=lambda: EventFilter.model_validate({}),
        description="Events that the sink takes: `namespaces`, `jobs`, `runs`, `kinds`, `states`.",
    )
    begin: Literal["start", "now"] = Field(
        "start", description="Where a new sink starts: at the beginning of the lake's history, or now."
    )
    rate: float | None = Field(None, gt=0, description="Maximum number of events per second.")
    every: Pause = Field(
        0.0, description="Minimum time between two batches, such as `1m`; longer means larger batches."
    )

    @property
    def silence(self) -> Silence | None:
        """The silence after which the sink reports a run, or None if the sink only sends events."""
        return None

    @property
    def poll_interval_s(self) -> float | None:
        """Seconds between two polls by the target, or None if the target does not poll."""
        return None


class Sink(NamedTuple):
    """One sink of `sinks.yml`."""

    name: str
    options: Options


SecretResolver = Callable[[SecretLocation], str]
"""Returns a secret. Raises WrongSetting, which names the variable or the address, if there is no secret."""


def resolve_secrets(values: Mapping[str, str | SecretLocation], reveal: SecretResolver) -> dict[str, str]:
    """Replace the references in a mapping with their secrets; raises WrongSetting if a secret does not exist."""
    return {name: reveal(value) if isinstance(value, SecretLocation) else value for name, value in values.items()}
