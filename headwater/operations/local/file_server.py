"""`headwater show`: serve files of events from a temporary data folder, read-only and on loopback."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from headwater.api.audit import audit
from headwater.api.shapes import Audit
from headwater.common.errors import WrongSetting
from headwater.events.event_files import read_event_texts
from headwater.operations.local.ingest import ingest_offline
from headwater.operations.local.up import run_headwater
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.event_log import open_log_readers
from headwater.operations.runtime.storage import open_bronze
from headwater.operations.settings import Settings, load_settings


def show_files(files: Sequence[Path], port: int, rules: Path | None, on_listening: Callable[[str, Audit], None]) -> int:
    """Ingest files of events into a temporary data folder, and serve it until SIGINT or SIGTERM.

    Settings of this machine do not apply, so nothing reaches its lake or its sinks. Returns the exit status.

    port: 0 picks a free port. rules: folder with your rules. on_listening: called with the URL of the server and the
    counts of the events. Raises WrongSetting if no line is an event.
    """
    with TemporaryDirectory(prefix="headwater-show-", ignore_cleanup_errors=True) as folder:
        overrides = {"data": Path(folder, "data"), "port": port, "read_only": True, "rules": rules}
        settings = load_settings(overrides, folder=Path(folder), environment={})[0]
        prepare_folder(settings)
        ingest_offline(settings, _event_bodies(files))
        counts = _audit_counts(settings)
        if not counts.stored:
            raise WrongSetting(
                f"No line of {', '.join(map(str, files))} is an OpenLineage event. Run `headwater validate FILE` to "
                "see the reasons."
            )
        return run_headwater(settings, lambda url: on_listening(url, counts))


def _event_bodies(files: Sequence[Path]) -> Iterator[bytes]:
    for path in files:
        for event in read_event_texts(path):
            if event.text is None:
                raise WrongSetting(f"{path}, line {event.line} is longer than an event may be. Remove the line.")
            yield event.text


def _audit_counts(settings: Settings) -> Audit:
    return audit(open_log_readers(settings, settings.data), open_bronze(settings))
