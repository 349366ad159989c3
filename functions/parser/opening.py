"""What the parser's triggers work on: the hub's partitions, each with its parser into one lake."""

from headwater.errors import WrongSetting
from headwater.eventlog import LogReader
from headwater.parser.attempts import Attempts
from headwater.parser.ingest import Parser
from headwater.parser.partitions import Partition, Partitions
from headwater.runtime import open_bronze, open_claims, open_log_readers, prepare_folder
from headwater.settings import Settings

OWNER = "parser/function"
READERS = "$Default"
"""Consumer group of reads beside the trigger: the host's receivers are exclusive (epoch 0) in their own group."""


def open_partitions(settings: Settings) -> Partitions:
    """Open nothing yet; the lake's handles are shared by all partitions, which take turns."""
    folder = prepare_folder(settings)
    bronze, claims = open_bronze(settings), open_claims(settings)

    def open_partition(name: str) -> Partition:
        reader = _reader(settings, name)
        parser = Parser(reader, bronze, claims, OWNER)
        return Partition(reader, parser, Attempts(folder / "run" / f"attempts-{name}.json"))

    return Partitions(open_partition, settings.flush_s)


def open_readers(settings: Settings) -> dict[str, LogReader]:
    """Open a reader for each partition, by its name."""
    beside = settings.model_copy(update={"hub_consumer_group": READERS})
    return {reader.source.partition: reader for reader in open_log_readers(beside, prepare_folder(settings))}


def _reader(settings: Settings, name: str) -> LogReader:
    readers = open_readers(settings)
    if name not in readers:
        raise WrongSetting(
            f"The trigger delivers partition {name!r}, hub {settings.hub_name!r} has {', '.join(sorted(readers))}. "
            "Let HEADWATER_HUB__fullyQualifiedNamespace and HEADWATER_HUB_NAMESPACE name the same namespace."
        )
    return readers[name]
