"""Search as you type: jobs, datasets, columns, tags and aliases by parts of their names, tolerating typos."""

import threading
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from headwater.common.errors import IndexUnreadable, WrongQuestion
from headwater.index.home import IndexHome, PublishedFile
from headwater.index.reading.search_file import KINDS, MATCHES, SearchFile, SearchHit, match_rank
from headwater.index.rules_files import RulesFiles
from headwater.index.stored.search import last_name_part
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules

MAX_TEXT = 200


class Hits(NamedTuple):
    """Search hits, best first. truncated: there may be more."""

    hits: list[SearchHit]
    truncated: bool


class Search:
    """Searches the index that questions read while its writer may be running. Runs one search at a time."""

    def __init__(self, home: IndexHome, rules: RulesFiles):
        """rules: the user's rules. Search also finds the aliases in them."""
        self._home = home
        self._rules = rules
        self._lock = threading.Lock()
        self._opened: tuple[PublishedFile, SearchFile] | None = None

    def find_hits(self, text: str, *, kinds: Sequence[str] = (), exact_datasets: Collection[Name] = ()) -> Hits:
        """Return the hits for a text, ordered by match, kind, number of uses and last use.

        kinds: return only hits of these kinds; empty for all. exact_datasets: datasets with a name that is equal to the
        whole text. Raises WrongQuestion if the text or a kind is invalid, LakeUnavailable if there is no index.
        """
        terms = _split_terms(text)
        wanted = _searched_kinds(kinds)
        with self._lock:
            try:
                published, index = self._open_index()
                with self._home.index_errors(published):
                    hits, truncated = index.find_hits(terms, wanted)
                    if "dataset" in wanted:
                        known = {hit.dataset_or_job for hit in hits if not hit.column and not hit.tag}
                        hits |= {
                            hit for hit in index.hits_for_datasets(exact_datasets) if hit.dataset_or_job not in known
                        }
            except IndexUnreadable:
                self._close_index()
                raise
            if "alias" in wanted:
                hits |= set(_alias_hits(self._rules.current_rules(), terms))
        return Hits(sorted(hits, key=lambda hit: hit[:7]), truncated)

    def close(self) -> None:
        """Close the index file."""
        with self._lock:
            self._close_index()

    def _open_index(self) -> tuple[PublishedFile, SearchFile]:
        current = self._home.published_file()
        if self._opened is None or self._opened[0] != current:
            self._close_index()
            self._opened = self._home.open_published(SearchFile)
        return self._opened

    def _close_index(self) -> None:
        if self._opened is not None:
            self._opened[1].sql.close()
        self._opened = None


def _alias_hits(rules: UserRules, terms: Sequence[str]) -> Iterator[SearchHit]:
    for alias, name in rules.names.aliases.items():
        ranks = [match_rank(term, alias, last_name_part(alias.casefold()), "") for term in terms]
        if None not in ranks:
            known = [rank for rank in ranks if rank is not None]
            yield SearchHit(sum(known), KINDS.index("alias"), 0, 0, Name("", alias), "", "", name, MATCHES[min(known)])


def _split_terms(text: str) -> list[str]:
    if len(text) > MAX_TEXT:
        raise WrongQuestion(f"q= has {len(text)} characters. Search for {MAX_TEXT} at most.")
    terms = [term for term in _without_backticks(text).casefold().split() if _has_no_surrogates(term)]
    if not terms:
        raise WrongQuestion("q= is missing. Write a part of a name, such as q=customer.")
    return terms[:8]


def _without_backticks(text: str) -> str:
    """Return a text without backticks, which quote names in SQL. A text that contains only backticks is unchanged."""
    plain = text.replace("\0", " ")
    return plain.replace("`", "") if plain.replace("`", "").strip() else plain


def _has_no_surrogates(term: str) -> bool:
    """Return whether a term contains no surrogate characters, which SQLite rejects."""
    return term.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in term)


def _searched_kinds(kinds: Sequence[str]) -> Sequence[str]:
    for kind in kinds:
        if kind not in KINDS:
            raise WrongQuestion(f"kinds={kind[:40]!r} is not known. Write some of {','.join(KINDS)}.")
    return kinds or KINDS
