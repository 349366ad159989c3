"""What questions are asked of."""

from collections.abc import Callable
from typing import Protocol

from headwater.index.reading.index_search import Search
from headwater.index.reading.view_opener import RulesInForce, ViewOpener
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules, nothing_hidden
from headwater.lineage.time.as_of import AsOf

NOW = AsOf()


class QuestionSources(Protocol):
    """What questions are asked of."""

    @property
    def open_views(self) -> ViewOpener:
        """Lineage."""

    def rules(self) -> RulesInForce:
        """Return the user's rules."""

    @property
    def search(self) -> Search:
        """Names."""

    @property
    def bronze(self) -> Bronze:
        """Events."""


def hides(rules: UserRules, system: bool) -> Callable[[Name], bool]:
    """Tell of which datasets a question does not speak: the system's own, unless they are asked for."""
    return nothing_hidden if system else rules.is_system
