"""Options that all sinks of alerts have: the Headwater server, routes, quiet hours and limits."""

from collections.abc import Callable
from datetime import UTC, time, tzinfo
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, field_validator, model_validator

from headwater.common.errors import WrongSetting
from headwater.events.stored_cells import StoredHead
from headwater.sinks.connecting.http import Endpoint
from headwater.sinks.interface.options import (
    BARE_ADDRESS,
    ConfigModel,
    EventFilter,
    Options,
    Patterns,
    Pause,
    Seconds,
)

Severity = Literal["error", "warning"]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _parse_destinations(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class Route(ConfigModel):
    """Which incidents go to which destinations. An incident must fit each field that is set."""

    to: Annotated[tuple[str, ...], BeforeValidator(_parse_destinations)] = Field((), description="Destinations.")
    namespaces: Patterns = Field((), description="Namespaces of the subject and of its datasets.")
    owners: Patterns = Field((), description="Names of owners.")
    tags: Patterns = Field((), description="Tags: `KEY` or `KEY=VALUE`.")
    kinds: Patterns = Field((), description="Kinds of incidents.")
    severities: tuple[Severity, ...] = Field((), description="Severities.")
    downstream: bool = Field(
        False, description="Whether namespaces, owners and tags of downstream datasets count as well."
    )
    fallback: bool = Field(False, description="Whether the route applies only if no other route matches.")


def _parse_clock_time(value: Any) -> Any:
    """Return a time of day from `HH:MM`. YAML reads an unquoted 22:00 as the number 1320."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 24 * 60:
        return time(*divmod(value, 60))
    hours, colon, minutes = str(value).partition(":")
    if not (colon and hours.isdecimal() and minutes.isdecimal() and int(hours) < 24 and int(minutes) < 60):
        raise ValueError("is not a time of day such as `22:00`")
    return time(int(hours), int(minutes))


ClockTime = Annotated[time, BeforeValidator(_parse_clock_time)]


class QuietHours(ConfigModel):
    """A time in which messages are held back. An `end` that is not after `begin` is on the next day."""

    begin: ClockTime = time(0)
    end: ClockTime = time(0)
    zone: str = "UTC"
    days: tuple[Day, ...] = DAYS
    severities: tuple[Severity, ...] = ("error", "warning")

    @field_validator("zone")
    @classmethod
    def _check_zone(cls, value: str) -> str:
        try:
            time_zone(value)
        except (ValueError, OSError, LookupError):
            raise ValueError(
                f"{value[:60]!r} is not a time zone that this machine knows, such as Europe/Berlin"
            ) from None
        return value


def time_zone(name: str) -> tzinfo:
    """Return a time zone; UTC needs no time zone database. Raises LookupError, ValueError or OSError."""
    return UTC if name == "UTC" else ZoneInfo(name)


class IncidentServer(Endpoint):
    """The Headwater server that is queried for incidents."""

    every: Pause = Field(60.0, ge=1, description="Time between two queries.")


class _NoEvents(EventFilter):
    """Accepts no event: incidents come from a query."""

    def matches(self, _: StoredHead) -> bool:
        """Return false."""
        return False


class AlertOptions(Options):
    """Options of all sinks of alerts."""

    headwater: IncidentServer = Field(
        description="Headwater server to query for incidents: `url`, `key`, `every` (`1m`) and the HTTP options."
    )
    page: str | None = Field(
        None, pattern=BARE_ADDRESS, description="Address of the dashboard for links, if it is not `headwater.url`."
    )
    routes: tuple[Route, ...] = Field(
        (), description="Which incidents go where: `to`, `namespaces`, `owners`, `tags`, `kinds`, `severities`, "
        "`downstream`, `fallback`. Each route that matches applies.",
    )  # fmt: skip
    quiet_hours: tuple[QuietHours, ...] = Field(
        (), description="When messages are held back: `begin`, `end`, `zone`, `days`, `severities`."
    )
    max_per_hour: int = Field(
        20, ge=1, description="Maximum number of messages to a destination in an hour. Others are summarised."
    )
    max_lateness: Seconds = Field(
        86_400.0, description="Incidents that opened longer before the previous query are not sent."
    )
    timeout: Seconds = Field(30.0, description="Longest time of a request with its answer.")
    ca: str | None = Field(None, description="File of certificates to trust, instead of the public ones.")
    only: _NoEvents = Field(default_factory=lambda: _NoEvents.model_validate({}), description="Not supported.")
    begin: Literal["now"] = Field("now", description="The sink sends nothing about earlier incidents.")
    every: Pause = Field(60.0, description="Minimum time between two commits of the position.")

    @property
    def poll_interval_s(self) -> float | None:
        """Seconds between two queries for incidents."""
        return self.headwater.every

    @model_validator(mode="after")
    def _check_only(self) -> Self:
        if "only" in self.model_fields_set:
            raise ValueError("`only` selects events, but this sink sends incidents. Use `routes`.")
        return self


def check_destinations(routes: tuple[Route, ...], fault: Callable[[str], str | None]) -> None:
    """Raise ValueError unless there are routes, and each has only valid destinations.

    fault: returns what is wrong with a destination, None if it is valid.
    """
    if not routes:
        raise ValueError("add `routes` with at least one entry `{to: …}`")
    for route in routes:
        if not route.to:
            raise ValueError("a route has no destination. Add `to: …`")
        for each in route.to:
            if problem := fault(each):
                raise ValueError(f"the destination {each[:100]!r} of a route {problem}")


def checked_webhook_address(text: str, name: str) -> str:
    """Return an address from a secret; raises WrongSetting, without the address, unless it is https.

    On this machine, http is accepted too.
    """
    scheme, separator, rest = text.strip().partition("://")
    host = rest.partition("/")[0]
    is_local = scheme == "http" and host.partition(":")[0] in ("127.0.0.1", "localhost")
    is_safe = scheme == "https" or is_local
    if not is_safe or not separator or not host or "@" in host or any(map(str.isspace, rest)):
        raise WrongSetting(f"The secret of `urls.{name}` is not an https address. Copy it from the target again.")
    return text.strip()
