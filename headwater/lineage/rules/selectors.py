"""Select the datasets and columns of a user's rule: by exact names, or by globs (`fnmatchcase`) on canonical names."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.bounded_cache import BoundedCache

T = TypeVar("T")


class SelectedColumn(NamedTuple):
    """One column of a dataset, by canonical name."""

    namespace: str
    name: str
    column: str


class Selector(NamedTuple):
    """The datasets and columns to which a rule applies: an exact text or a glob for each part of their names.

    If the rule leaves out a part, the part is None and matches every name.
    """

    namespace: str | None = None
    dataset: str | None = None
    column: str | None = None

    def exact_name(self) -> Name | None:
        """Return the name of the dataset as the user wrote it.

        The result is None if the namespace or the dataset is a glob, or if the rule leaves it out.
        """
        if self.namespace is None or self.dataset is None or re.search(r"[*?\[]", self.namespace + self.dataset):
            return None
        return Name(self.namespace, self.dataset)

    def is_column_match(self, column: str) -> bool:
        """Tell whether the rule applies to a column. The comparison ignores case."""
        return self.column is None or is_match(self.column.casefold(), column.casefold())


class RuleIndex(Generic[T]):
    """Finds the rules for a dataset.

    An exact name in a rule matches every dataset whose canonical name equals the canonical form of the exact name.
    """

    def __init__(self, rules: Iterable[tuple[Selector, T]], canonical: Callable[[str, str], Name]) -> None:
        """Index rules by their selectors.

        rules: (selector, rule) pairs, in the order in which the rules apply.
        canonical: returns the canonical name of a dataset for a namespace and a name.
        """
        self._exact: defaultdict[Name, list[tuple[int, T]]] = defaultdict(list)
        self._globs: list[tuple[int, Selector, T]] = []
        self._cache: BoundedCache[tuple[str, str], tuple[T, ...]] = BoundedCache()
        for number, (selector, rule) in enumerate(rules):
            exact = selector.exact_name()
            if exact is None:
                self._globs.append((number, selector, rule))
            else:
                self._exact[canonical(*exact.parts)].append((number, rule))

    def rules_for(self, namespace: str, name: str) -> tuple[T, ...]:
        """Return the rules for the dataset with this canonical name, in the order in which they were given."""
        found = self._cache.get((namespace, name))
        if found is None:
            rules = self._find_rules(namespace, name)
            found = self._cache.put((namespace, name), rules, len(rules))
        return found

    def _find_rules(self, namespace: str, name: str) -> tuple[T, ...]:
        numbered = list(self._exact.get(Name(namespace, name), ()))
        for number, selector, rule in self._globs:
            if is_match(selector.namespace, namespace) and is_match(selector.dataset, name):
                numbered.append((number, rule))
        return tuple(rule for _, rule in sorted(numbered, key=lambda one: one[0]))


def is_match(glob: str | None, text: str) -> bool:
    """Tell whether a text matches a glob. The glob None matches every text."""
    return glob is None or _compile_glob(glob)(text) is not None


@lru_cache(maxsize=4096)
def _compile_glob(glob: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(translate(glob)).match
