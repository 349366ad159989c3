"""Searches one index file: names, names with typos in the search terms, and descriptions."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from operator import itemgetter
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from headwater.common.nearest_names import count_typos, nearest_names
from headwater.common.resources import close_on_error
from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.index.stored.database import DATASET, JOB, open_for_reading, question_marks, read_transaction
from headwater.index.stored.datasets import SqliteNaming
from headwater.index.stored.numbers import NameNumbers
from headwater.index.stored.search import entry_id_range, last_name_part
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US

_MIN_ONE_TYPO, _MIN_TWO_TYPOS = 4, 8


def allowed_typo_count(term: str) -> int:
    """Return how many typos a term may have: 0 below 4 letters or with digits, 1 up to 7 letters, then 2."""
    if not term.isalpha() or len(term) < _MIN_ONE_TYPO:
        return 0
    return 1 if len(term) < _MIN_TWO_TYPOS else 2


def typo_count(term: str, word: str, limit: int) -> int | None:
    """Return the number of typos between a term and the most similar prefix of a word, or None if above `limit`."""
    lengths = range(len(term) - limit, min(len(word), len(term) + limit) + 1)
    found = min((count_typos(term, word[:length], limit) for length in lengths), default=limit + 1)
    return found if found <= limit else None


class Vocabulary:
    """A set of words in which similar words are found. A few letters may be wrong, extra, missing or swapped.

    For most words, a comparison of bit masks of their letters already shows that they are not similar.
    """

    def __init__(self) -> None:
        self._words: list[tuple[int, str]] = []

    def add_words(self, words: Iterable[str]) -> None:
        """Add words. A word must not be added twice. Short words and words with other characters are ignored."""
        self._words.extend(
            (_letter_mask(word), word) for word in words if len(word) >= _MIN_ONE_TYPO - 1 and word.isalpha()
        )

    def similar_words(self, term: str, limit: int) -> list[str]:
        """Return at most `limit` words with a prefix that is similar to a term, most similar first."""
        most = allowed_typo_count(term)
        return (
            [word for _, word in sorted(self._similar_words(term, most), key=itemgetter(0, 1))[:limit]] if most else []
        )

    def _similar_words(self, term: str, max_typos: int) -> Iterator[tuple[int, str]]:
        letters, shortest = _letter_mask(term), len(term) - max_typos
        for mask, word in self._words:
            if (letters & ~mask).bit_count() <= max_typos and len(word) >= shortest:
                found = typo_count(term, word, max_typos)
                if found is not None:
                    yield found, word


def _letter_mask(word: str) -> int:
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 31)
    return mask


SearchKind = Literal["job", "dataset", "alias", "column", "tag"]
KINDS: tuple[SearchKind, ...] = get_args(SearchKind)
SCAN_LIMIT = 60
"""The maximum number of entries of a kind that are ranked. If there are more, the result is truncated."""

Match = Literal["exact", "prefix", "word", "part", "parent", "similar", "description"]
MATCHES: tuple[Match, ...] = ("exact", "prefix", "word", "part", "parent")
_PARTS = re.compile(r"([^\W\d_]+)")
_PARENT = len(MATCHES) - 1
_CORRECTED = 8
_FEW_HITS = 20
"""Similar words and descriptions are searched only if there are fewer hits than this."""

_SIMILAR = 10
"""The penalty in the score of a hit for a corrected term."""

_DESCRIBED = 100
"""The penalty in the score of a hit in a description, so that it ranks below all hits in names."""

_DESCRIPTIONS = """
SELECT n.kind, n.name, n.facet, coalesce(t.value, n.value) AS text FROM newest_facets n
LEFT JOIN facet_texts t ON t.id = n.value AND typeof(n.value) = 'integer'
LEFT JOIN datasets d ON d.name = n.name AND n.kind = ?1
WHERE n.facet IN ('documentation', 'schema') AND n.kind IN (?1, ?2) AND coalesce(d.dropped, 0) = 0
AND instr(lower(text), ?3) AND instr(text, '"description"') LIMIT ?4
"""
_WEIGHT = "SELECT uses, time_us FROM search_weights WHERE name = ? AND kind = ?"

_COMPARED = 100_000
"""The maximum number of names of a kind that are compared as a whole if nothing else is found, each in about 2 µs."""

_TRIGRAM = 3
_LAST_CHARACTER = "\U0010ffff"

_ROWS = """
SELECT t.kind, n.namespace, n.name, t.part, t.text, t.parent, t.last, coalesce(w.uses, 0), w.time_us
FROM search_entries t JOIN names n ON n.id = t.name
LEFT JOIN search_weights w ON w.name = t.name AND w.kind = CASE t.kind WHEN 'job' THEN 'job' ELSE 'dataset' END
LEFT JOIN datasets d ON d.name = t.name AND t.kind != 'job'
WHERE coalesce(d.dropped, 0) = 0 AND t.id IN ({})
"""


class SearchHit(NamedTuple):
    """A search hit. Hits are sorted by their first seven fields.

    score: 0 for the best match. kind: the position in KINDS. negative_uses: minus the number of uses. age: minus the
    time of the last use (us, UTC). dataset_or_job: the name that was found. column, tag: "" if the hit is none.
    alias_target: the dataset that an alias means, else None. match: how the search terms matched.
    """

    score: int
    kind: int
    negative_uses: int
    age: int
    dataset_or_job: Name
    column: str
    tag: str
    alias_target: Name | None
    match: Match


class SearchFile:
    """One index file, with its vocabulary and symlinks in memory."""

    def __init__(self, path: Path):
        """Open the index file. Raises LakeUnavailable if there is no index."""
        with close_on_error(open_for_reading(path)) as self.sql:
            self._names = NameNumbers(self.sql)
            self._naming = SqliteNaming(self.sql, self._names)
        self._vocabulary = Vocabulary()
        self._newest_word = 0
        self._truncated = False
        self._data_version = -1

    def find_hits(self, terms: Sequence[str], kinds: Sequence[str]) -> tuple[set[SearchHit], bool]:
        """Return (hits, whether there may be more hits). All queries see one generation of the index.

        terms: the casefolded search terms. kinds: the kinds of hits to return.
        """
        with read_transaction(self.sql):
            self._refresh_vocabulary()
            stored = dict.fromkeys("dataset" if kind == "alias" else kind for kind in kinds)
            found: set[SearchHit] = set()
            self._truncated = False
            for kind in stored:
                ids = self._limited_hit_ids(terms, kind)
                found.update(self._load_hits(ids, terms, kinds))
            if len(found) < _FEW_HITS:
                known = {hit[4:8] for hit in found}
                for corrected in self._corrected_terms(terms):
                    for kind in stored:
                        ids = set(islice(self._hit_ids(corrected, kind), _FEW_HITS))
                        more = self._load_hits(ids, corrected, kinds, worse_by=_SIMILAR)
                        fresh = [hit for hit in more if hit[4:8] not in known]
                        known.update(hit[4:8] for hit in fresh)
                        found.update(fresh)
                if len(terms) == 1 and all(hit.match == "similar" for hit in found):
                    found.update(
                        hit for hit in self._hits_with_similar_names(terms[0], stored, kinds) if hit[4:8] not in known
                    )
                known = {hit[4:8] for hit in found}
                found.update(hit for hit in self._hits_in_descriptions(terms, kinds) if hit[4:8] not in known)
            return _best_hit_per_item(found), self._truncated

    def hits_for_datasets(self, datasets: Iterable[Name]) -> Iterator[SearchHit]:
        """Yield hits with the best score for datasets, except dropped and unknown datasets."""
        dropped = "SELECT 1 FROM datasets WHERE name = ? AND dropped"
        with read_transaction(self.sql):
            self._refresh_vocabulary()
            for name in datasets:
                number = self._names.find_number(name)
                if number is not None and not self.sql.execute(dropped, (number,)).fetchone():
                    yield self._make_hit("dataset", number, name, "", ranked=(0, "exact"))

    def _hits_in_descriptions(self, terms: Sequence[str], kinds: Sequence[str]) -> Iterator[SearchHit]:
        """Yield hits for jobs, datasets and columns with a description that contains all terms.

        The SQL query filters only by the longest term. If this term has fewer than three characters, there are no hits.
        """
        most = max(terms, key=len)
        if len(most) < _TRIGRAM:
            return
        rows = self.sql.execute(_DESCRIPTIONS, (DATASET, JOB, most, SCAN_LIMIT)).fetchall()
        self._truncated = self._truncated or len(rows) == SCAN_LIMIT
        for kind, number, facet, text in rows:
            whole = self._names.name(number)
            called: SearchKind = "job" if kind == JOB else "dataset"
            means = whole if called == "job" else self._naming.resolve(whole, MAX_TIME_US).without_generation
            for column, description in _parse_descriptions(facet, text):
                shown: SearchKind = "column" if column else called
                if shown in kinds and all(term in description.casefold() for term in terms):
                    yield self._make_hit(shown, number, means, column, ranked=(_DESCRIBED, "description"))

    def _make_hit(
        self, kind: SearchKind, number: int, name: Name, column: str, *, ranked: tuple[int, Match]
    ) -> SearchHit:
        weight = self.sql.execute(_WEIGHT, (number, "job" if kind == "job" else "dataset")).fetchone()
        uses, time_us = weight or (0, 0)
        return SearchHit(ranked[0], KINDS.index(kind), -uses, -(time_us or 0), name, column, "", None, ranked[1])

    def _hits_with_similar_names(self, term: str, stored: Iterable[str], kinds: Sequence[str]) -> Iterator[SearchHit]:
        """Yield hits for the names that are most similar to a term as a whole, because a typo may join or split words.

        stored: the kinds of entries that are searched. kinds: the kinds of hits that are returned.
        """
        for kind in stored:
            rows = self.sql.execute(
                "SELECT DISTINCT last FROM search_entries WHERE kind = ? LIMIT ?", (kind, _COMPARED)
            ).fetchall()
            self._truncated = self._truncated or len(rows) == _COMPARED
            for place, last in enumerate(nearest_names(term, (last for (last,) in rows)), 1):
                ids = list(self._query_ids("SELECT id FROM search_entries WHERE kind = ? AND last = ?", kind, last))
                yield from self._load_hits(ids, (last,), kinds, worse_by=_SIMILAR + place)

    def _refresh_vocabulary(self) -> None:
        version = self.sql.execute("PRAGMA data_version").fetchone()[0]
        if version == self._data_version:
            return
        self._names.refresh()
        self._naming.refresh()
        rows = self.sql.execute("SELECT id, word FROM vocabulary WHERE id > ?", (self._newest_word,)).fetchall()
        self._vocabulary.add_words(word for _, word in rows)
        self._newest_word = max((number for number, _ in rows), default=self._newest_word)
        self._data_version = version

    def _limited_hit_ids(self, terms: Sequence[str], kind: str) -> set[int]:
        found: set[int] = set()
        for number in self._hit_ids(terms, kind):
            found.add(number)
            if len(found) == SCAN_LIMIT:
                self._truncated = True
                break
        return found

    def _hit_ids(self, terms: Sequence[str], kind: str) -> Iterator[int]:
        """Yield the ids of entries that may match all terms, better matches first. Ids may repeat."""
        first, last = terms[0], last_name_part(terms[0])
        if len(terms) == 1:
            yield from self._query_ids("SELECT id FROM search_entries WHERE kind = ? AND last = ?", kind, last)
            between = "SELECT id FROM search_entries WHERE kind = ? AND last > ? AND last < ?"
            yield from self._query_ids(between, kind, last, last + _LAST_CHARACTER)
        long = [term for term in terms if len(term) >= _TRIGRAM]
        if len(terms) == 1 or not long:
            word = "SELECT thing FROM search_words WHERE kind = ? AND word >= ? AND word < ?"
            yield from self._query_ids(word, kind, first, first + _LAST_CHARACTER)
        if long:
            yield from self._ids_matching_phrases(kind, " AND ".join(map(_fts_phrase, long)))
        if len(terms) > 1:
            for term in long:
                yield from self._ids_of_parts(kind, term, [other for other in terms if other != term])
            for term in long:
                yield from self._ids_matching_phrases(kind, _fts_phrase(term))

    def _ids_matching_phrases(self, kind: str, phrases: str) -> Iterator[int]:
        query = "SELECT rowid FROM trigrams WHERE trigrams MATCH ? AND rowid BETWEEN ? AND ?"
        return self._query_ids(query, phrases, *entry_id_range(kind))

    def _ids_of_parts(self, kind: str, dataset: str, terms: Sequence[str]) -> Iterator[int]:
        """Yield the ids of columns or tags. Their names contain a term, and their datasets' names contain `dataset`."""
        if kind not in ("column", "tag") or not terms:
            return iter(())
        datasets = list(self._ids_matching_phrases("dataset", _fts_phrase(dataset)))
        called = " OR ".join(["instr(lower(text), ?)"] * len(terms))
        query = (
            "SELECT id FROM search_entries WHERE name IN (SELECT name FROM search_entries "
            f"WHERE id IN ({question_marks(datasets)})) "
            f"AND kind = ? AND ({called})"
        )
        return self._query_ids(query, *datasets, kind, *terms)

    def _query_ids(self, query: str, *values: str | int) -> Iterator[int]:
        rows = self.sql.execute(f"{query} LIMIT {SCAN_LIMIT}", values).fetchall()
        self._truncated = self._truncated or len(rows) == SCAN_LIMIT
        return (number for (number,) in rows)

    def _corrected_terms(self, terms: Sequence[str]) -> Iterator[tuple[str, ...]]:
        near = [[term, *self._similar_terms(term)] for term in terms]
        return (chosen for chosen in islice(product(*near), _CORRECTED) if chosen != tuple(terms))

    def _similar_terms(self, term: str) -> Iterator[str]:
        """Yield variants of a term in which words are replaced by similar words. Characters such as `_` split words."""
        parts = _PARTS.split(term)
        words = [
            [part, *(word for word in self._vocabulary.similar_words(part, _CORRECTED) if not word.startswith(part))]
            for part in parts
        ]
        for chosen in islice(product(*words), _CORRECTED + 1):
            if list(chosen) != parts:
                yield "".join(chosen)

    def _load_hits(
        self, ids: Iterable[int], terms: Sequence[str], kinds: Sequence[str], *, worse_by: int = 0
    ) -> Iterator[SearchHit]:
        numbers = list(ids)
        for kind, namespace, name, part, own, parent, last, uses, time_us in self.sql.execute(
            _ROWS.format(question_marks(numbers)), numbers
        ):
            ranks = [match_rank(term, own, last, parent) for term in terms]
            if None in ranks or min(rank for rank in ranks if rank is not None) == _PARENT:
                continue
            whole = Name(namespace, name)
            means = None if kind == "job" else self._naming.resolve(whole, MAX_TIME_US).without_generation
            is_alias = kind == "dataset" and means != whole
            shown = "alias" if is_alias else kind
            if shown not in kinds:
                continue
            score = sum(rank for rank in ranks if rank is not None) + worse_by
            match: Match = "similar" if worse_by else MATCHES[min(rank for rank in ranks if rank is not None)]
            yield SearchHit(
                score, KINDS.index(shown), -uses, -(time_us or 0),
                means if kind in ("column", "tag") and means else whole,
                part, own if kind == "tag" else "", means if is_alias else None, match,
            )  # fmt: skip


def _best_hit_per_item(hits: Iterable[SearchHit]) -> set[SearchHit]:
    """Return the best hit for each thing, because a dataset may be found by both its name and its display name."""
    found: dict[tuple[object, ...], SearchHit] = {}
    for hit in sorted(hits, key=lambda hit: (hit.score, hit.match)):
        found.setdefault((hit.kind, *hit[4:8]), hit)
    return {*found.values()}


def _parse_descriptions(facet: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield (column, description) from a facet. The column is "" for the description of the job or dataset itself."""
    value = decode(text.encode())
    if facet == "documentation":
        yield "", text_at(value, "description") or ""
        return
    fields = value.get("fields") if isinstance(value, dict) else None
    for field in fields if isinstance(fields, list) else ():
        column, description = text_at(field, "name"), text_at(field, "description")
        if column and description:
            yield column, description


def _fts_phrase(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def match_rank(term: str, own_name: str, last_name_part: str, parent: str) -> int | None:
    """Return how well a casefolded term matches an entry: a position in MATCHES, or None if it does not match.

    own_name: the name of the entry. last_name_part: the casefolded last part of this name. parent: the namespace or
    the dataset of the entry. own_name and parent are not casefolded.
    """
    folded = own_name.casefold()
    if term in folded:
        before = folded[-len(term) - 1 : -len(term)]
        if folded.endswith(term) and (not before or before in "/.:"):
            return 0
        if last_name_part.startswith(term):
            return 1
        return 2 if _begins_word(term, own_name, folded) else 3
    parent = parent.casefold()
    if term in parent:
        return _PARENT
    whole, wanted = f"{parent}/{folded}".replace(".", "/"), term.replace(".", "/")
    return None if wanted not in whole else 0 if whole.endswith(f"/{wanted}") or whole == wanted else 3


def _begins_word(term: str, own: str, folded: str) -> bool:
    at = folded.find(term)
    while at > 0 and len(own) == len(folded):
        if not own[at - 1].isalnum() or (own[at].isupper() and own[at - 1].islower()):
            return True
        at = folded.find(term, at + 1)
    return at == 0
