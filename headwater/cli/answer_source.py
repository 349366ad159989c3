"""Choose where a command gets its answers: from a data folder or from a running Headwater."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import to_builtins

from headwater.cli.errors import warn
from headwater.cli.server_client import ServerClient, configured_server
from headwater.common.errors import HeadwaterError, WrongSetting
from headwater.operations.runtime.data_folder import require_data_folder
from headwater.operations.settings import contracts_path, load_settings
from headwater.questions.declaring import Question

if TYPE_CHECKING:
    from headwater.api.freshness import FreshnessMeter
    from headwater.auth.access import Caller
    from headwater.auth.keys import KeyManager
    from headwater.index.reading.search import Search
    from headwater.index.reading.view_opener import ActiveRules, ViewOpener
    from headwater.intake.event_log import Readers
    from headwater.lake.admin_log import Outcome
    from headwater.lake.bronze_tables import Bronze
    from headwater.lake.delta_table import LakeTable
    from headwater.sinks.control.service import SinkService


class AnswerSource(Protocol):
    """A source of answers: a data folder or a running Headwater."""

    def ask(self, question: Question, asked: Mapping[str, str], **path: str) -> Any:
        """Return the answer as JSON values. asked: query parameters; path: path parameters."""


@contextmanager
def open_answer_source(server: str | None, key: str | None, data: Path | None) -> Iterator[AnswerSource]:
    """Open the source named on the command line. The default is the server in `HEADWATER_URL`, else the data folder."""
    url = selected_server(server, data)
    if url:
        with closing(ServerClient(url, key, warn)) as answers:
            yield answers
    else:
        yield DataFolder(data)


def selected_server(server: str | None, data: Path | None) -> str | None:
    """Return the URL of the server to ask, None to use the data folder."""
    if server and data:
        raise WrongSetting("--server and --data exclude each other. Use one of them.")
    return None if data else configured_server(server)


def print_answer(source: AnswerSource, question: Question, found: Any, print_found: Callable[[Any], None]) -> None:
    """Print an answer. Raises WrongSetting if a server of another version sends an answer with other members.

    print_found: prints the answer `found`.
    """
    try:
        print_found(found)
    except (LookupError, TypeError, AttributeError) as error:
        if not isinstance(source, ServerClient):
            raise
        raise source.unexpected_answer(question, error) from error


class DataFolder:
    """The sources of answers in a data folder. Each property opens a source when it is first used."""

    def __init__(self, data: Path | None):
        """Read the settings. Raises WrongSetting if the folder does not exist."""
        self._settings = load_settings({"data": data})[0]
        self._folder = require_data_folder(self._settings)

    @cached_property
    def open_views(self) -> "ViewOpener":
        """Views of lineage. Prints problems of the user's rules."""
        from headwater.operations.runtime.index import open_view_opener

        open_views = open_view_opener(self._settings, self._folder)
        for problem in open_views.active_rules().problems:
            warn(problem)
        return open_views

    @cached_property
    def search(self) -> "Search":
        """The search over names."""
        from headwater.operations.runtime.index import open_search

        return open_search(self._settings, self._folder)

    @cached_property
    def bronze(self) -> "Bronze":
        """The bronze tables."""
        from headwater.operations.runtime.storage import open_bronze

        return open_bronze(self._settings)

    @cached_property
    def log_readers(self) -> "Readers":
        """Readers of the event log, one for each partition."""
        from headwater.operations.runtime.event_log import reader_opener

        return reader_opener(self._settings, self._folder)

    @cached_property
    def freshness(self) -> "FreshnessMeter":
        """The meter of how far answers are behind. If the data folder has no log, no event can wait in the log."""
        from headwater.operations.runtime.event_log import log_exists
        from headwater.operations.runtime.index import open_freshness

        made = log_exists(self._settings, self._folder)
        return open_freshness(self._settings, self._folder, self.log_readers if made else tuple)

    @cached_property
    def sinks(self) -> "SinkService":
        """The sinks of `sinks.yml`."""
        from headwater.operations.runtime.sinks import open_sink_service

        return open_sink_service(self._settings, self._folder)

    @cached_property
    def contracts(self) -> Path:
        """The folder with contracts."""
        return contracts_path(self._settings)

    @cached_property
    def keys(self) -> "KeyManager":
        """The keys of the settings and of the key file."""
        from headwater.auth.keys import KeyManager
        from headwater.operations.runtime.auth import open_key_file

        return KeyManager(open_key_file(self._settings), self._settings.keys, self._settings.oidc_issuer)

    @cached_property
    def admin_log(self) -> "LakeTable":
        """The table with administrative actions."""
        from headwater.lake.admin_log import open_admin_log
        from headwater.operations.runtime.storage import lake_root_and_options

        return open_admin_log(*lake_root_and_options(self._settings))

    @cached_property
    def caller(self) -> "Caller":
        """The user who runs this command."""
        from headwater.operations.runtime.auth import local_caller

        return local_caller()

    def record(self, action: str, subject: str, outcome: "Outcome" = "done", detail: str = "") -> None:
        """Add a row to the admin log."""
        from headwater.lake.admin_log import Actor
        from headwater.operations.runtime.auth import open_admin_recorder

        open_admin_recorder(self._settings)(
            Actor(self.caller.label, agent="headwater"), action, subject, outcome, detail
        )

    def rules(self) -> "ActiveRules":
        """Return the user's rules without updating the index."""
        from headwater.index.reading.view_opener import ViewOpener
        from headwater.operations.runtime.index import open_index_home, open_rules

        return ViewOpener(open_index_home(self._folder), open_rules(self._settings)).active_rules()

    def ask(self, question: Question, asked: Mapping[str, str], **path: str) -> Any:
        """Return the answer as JSON values, and record a question that changes something in the admin log.

        Raises NotKnown if no acknowledged event contains the name, Behind if a waiting event may contain it.
        """
        if question.method == "GET":
            return to_builtins(self.freshness.ask_or_report_delay(lambda: question.ask(self, asked, **path)))
        given = {**path, **asked}
        detail, subject = " ".join(f"{name}={value}" for name, value in given.items()), next(iter(given.values()), "")
        try:
            found = to_builtins(question.ask(self, asked, **path))
        except HeadwaterError:
            self.record(question.name.replace("-", " "), subject, "refused", detail)
            raise
        self.record(question.name.replace("-", " "), subject, "done", detail)
        return found
