"""The target types of sinks. The module of a type is imported when a sink of that type is read."""

from typing import Any, Protocol, cast, get_args

from headwater.common.errors import WrongSetting
from headwater.common.registry import Registry
from headwater.sinks.interface.options import Options, SecretResolver, Sink
from headwater.sinks.interface.shape import Target
from headwater.sinks.interface.support import SupportTable


class TargetModule(Protocol):
    """What a target's module provides."""

    OPTIONS: type[Options]

    @staticmethod
    def support_table(options: Options) -> SupportTable:
        """Return what a target with these options can represent."""

    @staticmethod
    def open_target(options: Options, reveal: SecretResolver) -> Target:
        """Create a target without connecting; raises WrongSetting if an option is wrong or a secret is missing."""


def _check_module(name: str, found: Any) -> TargetModule:
    """Return `found` as a target module; raises ValueError if it lacks a member of TargetModule."""
    options = getattr(found, "OPTIONS", None)
    if not (isinstance(options, type) and issubclass(options, Options)):
        raise ValueError(f"it has no class `OPTIONS` that inherits from `{Options.__module__}.Options`. Add it.")
    for function in ("support_table", "open_target"):
        if not callable(getattr(found, function, None)):
            raise ValueError(f"it has no function `{function}`. Add it, as in `headwater.sinks.targets.file`.")
    if name not in get_args(options.model_fields["type"].annotation):
        raise ValueError(f"`OPTIONS` does not accept the type {name!r}. Declare `type: Literal[{name!r}]` in it.")
    return cast("TargetModule", found)


TARGETS: Registry[TargetModule] = Registry(
    "sink type",
    "headwater.sinks",
    {
        "openlineage": "headwater.sinks.targets.openlineage",
        "marquez": "headwater.sinks.targets.marquez",
        "file": "headwater.sinks.targets.file",
        "datahub": "headwater.sinks.targets.datahub.target",
        "kafka": "headwater.sinks.targets.kafka",
        "purview": "headwater.sinks.targets.purview.target",
        "delta": "headwater.sinks.targets.delta",
        "webhook": "headwater.sinks.targets.webhook.target",
        "slack": "headwater.sinks.targets.alerts.slack",
        "teams": "headwater.sinks.targets.alerts.teams",
        "email": "headwater.sinks.targets.alerts.email",
        "incident-webhook": "headwater.sinks.targets.alerts.incident_webhook",
    },
    _check_module,
)


def target_module(kind: str) -> TargetModule:
    """Return the module of a sink type; raises WrongSetting if the type is unknown or its package is broken."""
    found = TARGETS.get(kind)
    if found is None:
        raise WrongSetting(f"The sink type {kind[:60]!r} is unknown. Use one of {', '.join(TARGETS.names())}.")
    return found


def open_sink(sink: Sink, reveal: SecretResolver) -> Target:
    """Create the target of a sink; raises WrongSetting if a secret or a package is missing."""
    return target_module(sink.options.type).open_target(sink.options, reveal)
