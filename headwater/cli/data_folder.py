"""A data folder that questions are asked of, whether Headwater runs on it or not."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from headwater.cli.failing import warn
from headwater.errors import HeadwaterError
from headwater.questions.declaring import Question
from headwater.runtime.folders import existing_folder
from headwater.settings import contracts_path, load_settings

if TYPE_CHECKING:
    from headwater.access import Caller
    from headwater.api.freshness import FreshnessMeter
    from headwater.eventlog import Readers
    from headwater.identity.key_desk import KeyDesk
    from headwater.index.reading.index_search import Search
    from headwater.index.reading.view_opener import RulesInForce, ViewOpener
    from headwater.lake.admin_log import Outcome
    from headwater.lake.bronze_tables import Bronze
    from headwater.lake.delta_table import LakeTable
    from headwater.sinks.operating.sink_desk import SinkDesk


class DataFolder:
    """What questions are asked of: a data folder, whether Headwater runs on it or not. Opened as it is needed."""

    def __init__(self, data: Path | None):
        """Open nothing yet; raises WrongSetting where there is no such folder."""
        self._settings = load_settings({"data": data})[0]
        self._folder = existing_folder(self._settings)

    @cached_property
    def open_views(self) -> "ViewOpener":
        """Lineage; problems of the user's rules are printed."""
        from headwater.runtime.indexes import open_view_opener

        open_views = open_view_opener(self._settings, self._folder)
        for problem in open_views.rules().problems:
            warn(problem)
        return open_views

    @cached_property
    def search(self) -> "Search":
        """Names."""
        from headwater.runtime.indexes import open_search

        return open_search(self._settings, self._folder)

    @cached_property
    def bronze(self) -> "Bronze":
        """Events."""
        from headwater.runtime.storage import open_bronze

        return open_bronze(self._settings)

    @cached_property
    def readers(self) -> "Readers":
        """The log."""
        from headwater.runtime.logs import log_readers

        return log_readers(self._settings, self._folder)

    @cached_property
    def freshness(self) -> "FreshnessMeter":
        """What questions cannot see yet; where nothing was sent yet there is no log that could hold more."""
        from headwater.runtime.indexes import open_freshness
        from headwater.runtime.logs import is_log_made

        made = is_log_made(self._settings, self._folder)
        return open_freshness(self._settings, self._folder, self.readers if made else tuple)

    @cached_property
    def sinks(self) -> "SinkDesk":
        """Sinks."""
        from headwater.runtime.sink_opening import open_sink_desk

        return open_sink_desk(self._settings, self._folder)

    @cached_property
    def contracts(self) -> Path:
        """The folder of contracts."""
        return contracts_path(self._settings)

    @cached_property
    def keys(self) -> "KeyDesk":
        """Keys."""
        from headwater.identity.key_desk import KeyDesk
        from headwater.runtime.identities import open_key_file

        return KeyDesk(open_key_file(self._settings), self._settings.keys, self._settings.oidc_issuer)

    @cached_property
    def admin_log(self) -> "LakeTable":
        """Who changed what."""
        from headwater.lake.admin_log import open_admin_log
        from headwater.runtime.storage import lake_place

        return open_admin_log(*lake_place(self._settings))

    @cached_property
    def caller(self) -> "Caller":
        """Who runs this command."""
        from headwater.runtime.identities import local_caller

        return local_caller()

    def record(self, action: str, subject: str, outcome: "Outcome" = "done", detail: str = "") -> None:
        """Write down what this command changed."""
        from headwater.lake.admin_log import Actor
        from headwater.runtime.identities import open_recorder

        open_recorder(self._settings)(Actor(self.caller.label, agent="headwater"), action, subject, outcome, detail)

    def rules(self) -> "RulesInForce":
        """Return the user's rules; the index is not brought up to date for that."""
        from headwater.index.reading.view_opener import ViewOpener
        from headwater.runtime.indexes import open_index_home, open_rules

        return ViewOpener(open_index_home(self._folder), open_rules(self._settings)).rules()

    def ask(self, question: Question, asked: Mapping[str, str], **path: str) -> Any:
        """Return an answer as JSON has it; raises NotKnown only for what no acknowledged event knows, else Behind."""
        if question.method == "GET":
            return to_builtins(self.freshness.certain(lambda: question.ask(self, asked, **path)))
        said = {**path, **asked}
        detail, subject = " ".join(f"{name}={value}" for name, value in said.items()), next(iter(said.values()), "")
        try:
            found = to_builtins(question.ask(self, asked, **path))
        except HeadwaterError:
            self.record(question.name.replace("-", " "), subject, "refused", detail)
            raise
        self.record(question.name.replace("-", " "), subject, "done", detail)
        return found
