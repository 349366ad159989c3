"""Which datasets and columns a user's rule speaks of: exact names or globs (`fnmatchcase`) over canonical names."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.weighed import Weighed

T = TypeVar("T")


class SelectedColumn(NamedTuple):
    """One column of a dataset, by canonical name."""

    namespace: str
    name: str
    column: str


class Selector(NamedTuple):
    """What a rule speaks of; a part that was left out is None and means any."""

    namespace: str | None = None
    dataset: str | None = None
    column: str | None = None

    def exact(self) -> Name | None:
        """Return the dataset as the user wrote it, None where a glob or nothing stands for it."""
        if self.namespace is None or self.dataset is None or re.search(r"[*?\[]", self.namespace + self.dataset):
            return None
        return Name(self.namespace, self.dataset)

    def fits_column(self, column: str) -> bool:
        """Tell whether a column is meant, whatever its case."""
        return self.column is None or fits(self.column.casefold(), column.casefold())


class Selected(Generic[T]):
    """Rules by the datasets they speak of. An exact name may be any way to write the dataset."""

    def __init__(self, rules: Iterable[tuple[Selector, T]], canonical: Callable[[str, str], Name]) -> None:
        """Take the rules in order; canonical: the form of names."""
        self._exact: defaultdict[Name, list[tuple[int, T]]] = defaultdict(list)
        self._globs: list[tuple[int, Selector, T]] = []
        self._memo: Weighed[tuple[str, str], tuple[T, ...]] = Weighed()
        for number, (selector, rule) in enumerate(rules):
            exact = selector.exact()
            if exact is None:
                self._globs.append((number, selector, rule))
            else:
                self._exact[canonical(*exact.parts)].append((number, rule))

    def of(self, namespace: str, name: str) -> tuple[T, ...]:
        """Return the rules that speak of a dataset, in order."""
        found = self._memo.get((namespace, name))
        if found is None:
            rules = self._look_up(namespace, name)
            found = self._memo.keep((namespace, name), rules, len(rules))
        return found

    def _look_up(self, namespace: str, name: str) -> tuple[T, ...]:
        numbered = list(self._exact.get(Name(namespace, name), ()))
        for number, selector, rule in self._globs:
            if fits(selector.namespace, namespace) and fits(selector.dataset, name):
                numbered.append((number, rule))
        return tuple(rule for _, rule in sorted(numbered, key=lambda one: one[0]))


def fits(glob: str | None, text: str) -> bool:
    """Tell whether a text fits a glob; None fits everything."""
    return glob is None or _compiled(glob)(text) is not None


@lru_cache(maxsize=4096)
def _compiled(glob: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(translate(glob)).match
