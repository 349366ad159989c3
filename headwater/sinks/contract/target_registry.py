"""The known target types. The module of a type is imported when a sink of that type is opened."""

from importlib import import_module
from typing import Protocol, cast

from headwater.sinks.contract.options import Options, SecretResolver, Sink
from headwater.sinks.contract.shape import Target
from headwater.sinks.contract.support import SupportTable

TARGETS = {
    "openlineage": "headwater.sinks.targets.openlineage",
    "marquez": "headwater.sinks.targets.marquez",
    "file": "headwater.sinks.targets.file",
    "datahub": "headwater.sinks.targets.datahub.target",
    "kafka": "headwater.sinks.targets.kafka",
    "purview": "headwater.sinks.targets.purview.target",
    "delta": "headwater.sinks.targets.delta",
    "webhook": "headwater.sinks.targets.webhook.target",
}


class Module(Protocol):
    """What a target's module provides."""

    OPTIONS: type[Options]

    @staticmethod
    def support_table(options: Options) -> SupportTable:
        """Return what a target with these options can represent."""

    @staticmethod
    def open_target(options: Options, reveal: SecretResolver) -> Target:
        """Create a target without connecting; raises WrongSetting, also for a missing secret."""


def target_module(kind: str) -> Module:
    """Return the module of a type in TARGETS."""
    return cast("Module", import_module(TARGETS[kind]))


def open_sink(sink: Sink, reveal: SecretResolver) -> Target:
    """Create the target of a sink; raises WrongSetting if a secret or a package is missing."""
    return target_module(sink.options.type).open_target(sink.options, reveal)
