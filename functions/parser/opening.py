"""Opens the hub's partitions, each with its parser; all write into one lake."""

from collections.abc import Sequence

from functions import open_readers
from headwater.common.errors import WrongSetting
from headwater.intake.event_log import LogReader
from headwater.intake.parser.log_ingest import Parser
from headwater.intake.parser.partitions import Partition, Partitions
from headwater.lake.attempts import Attempts
from headwater.lake.ownership import ROUTES
from headwater.operations.runtime.folders import prepare_folder
from headwater.operations.runtime.lake_troubles import LakeTroubles, is_shared
from headwater.operations.runtime.parser_trouble import ParserTrouble
from headwater.operations.runtime.storage import open_bronze, open_claims
from headwater.operations.settings import Settings

OWNER = ROUTES["function"]


def open_partitions(settings: Settings) -> Partitions:
    """Open nothing yet. All partitions share the lake's handles and take turns."""
    folder = prepare_folder(settings)
    bronze, claims, readers = open_bronze(settings), open_claims(settings), open_readers(settings, folder)

    def open_partition(name: str) -> Partition:
        reader = _partition_of(readers(), name, settings.hub_name)
        parser = Parser(reader, bronze, claims, OWNER, settings.record_cpu_s)
        return Partition(reader, parser, Attempts(folder / "run" / f"attempts-{name}.json"))

    share = LakeTroubles(settings).note if is_shared(settings) else None
    return Partitions(open_partition, settings.flush_s, ParserTrouble(folder, bronze, share))


def _partition_of(readers: Sequence[LogReader], name: str, hub: str) -> LogReader:
    found = {reader.source.partition: reader for reader in readers}
    if name not in found:
        raise WrongSetting(
            f"The trigger delivers partition {name!r}, hub {hub!r} has {', '.join(sorted(found))}. "
            "Set HEADWATER_HUB__fullyQualifiedNamespace and HEADWATER_HUB_NAMESPACE to the same namespace."
        )
    return found[name]
