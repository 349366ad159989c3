"""The data sources of questions."""

from collections.abc import Callable
from typing import Protocol

from headwater.index.reading.search import Search
from headwater.index.reading.view_opener import ActiveRules, ViewOpener
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules, is_never_hidden
from headwater.lineage.snapshots.as_of import AsOf

NOW = AsOf()


class QuestionSources(Protocol):
    """The data sources of questions."""

    @property
    def open_views(self) -> ViewOpener:
        """Views of lineage."""

    def rules(self) -> ActiveRules:
        """Return the active rules of the user."""

    @property
    def search(self) -> Search:
        """Search by name."""

    @property
    def bronze(self) -> Bronze:
        """Stored events."""


def hidden_table_filter(rules: UserRules, system: bool) -> Callable[[Name], bool]:
    """Return a function that decides whether to omit a dataset: system tables, unless they are requested."""
    return is_never_hidden if system else rules.is_system
