"""The targets there are: one module each, imported when a sink of its type is opened."""

from importlib import import_module
from typing import Protocol, cast

from headwater.sinks.contract.sink_holdings import Holdings
from headwater.sinks.contract.sink_options import Options, Reveal, Sink
from headwater.sinks.contract.sink_shape import Target

TARGETS = {
    "openlineage": "headwater.sinks.targets.openlineage_target",
    "marquez": "headwater.sinks.targets.marquez_target",
    "file": "headwater.sinks.targets.file_target",
    "datahub": "headwater.sinks.targets.datahub.datahub_target",
    "kafka": "headwater.sinks.targets.kafka_target",
    "purview": "headwater.sinks.targets.purview.purview_target",
    "delta": "headwater.sinks.targets.delta_target",
    "webhook": "headwater.sinks.targets.webhook.webhook_target",
}


class Module(Protocol):
    """What a target's module has beside its Target."""

    OPTIONS: type[Options]

    @staticmethod
    def holdings(options: Options) -> Holdings:
        """Return what targets with these options hold of what events say."""

    @staticmethod
    def open_target(options: Options, reveal: Reveal) -> Target:
        """Open a target; connects to nothing yet. Raises WrongSetting, also for a secret that is not there."""


def target_module(kind: str) -> Module:
    """Return the module of a type of TARGETS."""
    return cast("Module", import_module(TARGETS[kind]))


def open_sink(sink: Sink, reveal: Reveal) -> Target:
    """Open the target of a sink; raises WrongSetting while a secret or a package of it is missing."""
    return target_module(sink.options.type).open_target(sink.options, reveal)
