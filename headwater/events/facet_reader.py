"""Parses facet objects from their raw text, and caches the results, because the same texts recur."""

from collections.abc import Container, Mapping

from msgspec import Raw, Struct, json, msgpack
from msgspec.structs import replace

from headwater.events.decode import decode
from headwater.events.event import Content, Facet
from headwater.events.facet_digests import Memo, canonical_json, content_digests, digest_of, facet_digest, is_deleted
from headwater.events.facet_sets import (
    CHANGING,
    NO_DATASET,
    NO_JOB,
    NO_RUN,
    NOT_COUNTED,
    TABLES,
    DatasetFacets,
    JobFacets,
    RunFacets,
    StatisticsFacets,
)
from headwater.events.rule_facets import (
    parent_facet,
    read_artifact,
    read_job_type,
    read_lifecycle,
    read_parent,
    read_symlinks,
    read_tags,
    text_at,
)
from headwater.events.statistics_facets import METRICS, numbers_in
from headwater.events.subset_condition import SUBSET, condition_columns, names_partitions_or_locations
from headwater.events.wire import NULL
from headwater.tables import VALUES

_Digests = list[tuple[str, bytes]]
_Stored = tuple[tuple[str, ...], tuple[Facet, ...], tuple[Content, ...], tuple[Content, ...]]
_SAID = frozenset({"symlinks", "tags", "lifecycleStateChange", "version"})
_members = json.Decoder(dict[str, Raw])


def read_statistics_facets(raw: Raw) -> StatisticsFacets:
    """Parse the input facets or the output facets of a dataset."""
    if not raw or raw == NULL:
        return NOT_COUNTED
    value = decode(bytes(raw))
    names = tuple(sorted(value))
    known = tuple([name for name in names if value[name] is not None]) if None in value.values() else names
    subset = value.get(SUBSET)
    return StatisticsFacets(
        digest_of(canonical_json(value)),
        names,
        known,
        condition_columns(subset),
        parts_read=names_partitions_or_locations(subset),
        numbers=numbers_in(value),
    )


class FacetReader:
    """Parses facet objects from their raw text, with caches. Not thread-safe."""

    def __init__(self) -> None:
        """Start with empty caches."""
        self._jobs: Memo[JobFacets] = Memo()
        self._datasets: Memo[DatasetFacets] = Memo()
        self._digests: Memo[bytes] = Memo()
        self._tables: dict[str, Memo[_CachedFacet]] = {key: Memo() for key in TABLES}
        self._values: Memo[_CachedFacet] = Memo()
        self._artifacts: Memo[str] = Memo()

    def read_run_facets(self, raw: Raw) -> RunFacets:
        """Parse the facets of a run. Only single facets are cached, because the whole object never recurs."""
        if not raw or raw == NULL:
            return NO_RUN
        facets = _texts_by_name(raw)
        names = sorted(facets)
        known = [name for name in names if facets[name] != b"null"]
        tables = {key: self._content_of_table_facet(key, facets[key]) for key in TABLES if key in known}
        digests = [(key, tables[key].digest if key in tables else self._cached_digest(facets[key])) for key in names]
        parent, properties = parent_facet(facets), facets.get("spark_properties")
        return RunFacets(
            _digest_of_all(digests),
            tuple(names),
            tables=tuple([each.content for each in tables.values()]),
            text=bytes(raw).decode(),
            known=tuple(known),
            parent=read_parent(parent) if parent else NO_RUN.parent,
            artifact=self._cached_artifact(properties) if properties else None,
        )

    def read_job_facets(self, raw: Raw) -> JobFacets:
        """Parse the facets of a job. The whole object is cached, because its text usually recurs."""
        if not raw or raw == NULL:
            return NO_JOB
        text = bytes(raw)
        return self._jobs.get(text) or self._jobs.put(text, self._read_job(_texts_by_name(raw)))

    def read_dataset_facets(self, raw: Raw) -> DatasetFacets:
        """Parse the facets of a dataset. The whole object is cached, because its text usually recurs."""
        if not raw or raw == NULL:
            return NO_DATASET
        text = bytes(raw)
        return self._datasets.get(text) or self._datasets.put(text, self._read_dataset(_texts_by_name(raw)))

    def _read_job(self, facets: Mapping[str, bytes]) -> JobFacets:
        digests, stored = self._digests_and_contents(facets, facets)
        return JobFacets(_digest_of_all(digests), *stored, read_job_type(decode(facets.get("jobType", b"null"))))

    def _read_dataset(self, facets: Mapping[str, bytes]) -> DatasetFacets:
        digests, stored = self._digests_and_contents(facets, facets.keys() - CHANGING)
        digest = shape = _digest_of_all(digests)
        if not CHANGING.isdisjoint(facets):
            shape = _digest_of_all(
                [(key, _presence_marker(facets[key]) if key in CHANGING else found) for key, found in digests]
            )
        numbers = numbers_in({METRICS: decode(facets[METRICS])}) if METRICS in facets else ()
        own = DatasetFacets(digest, *stored, shape=shape, numbers=numbers)
        return own if _SAID.isdisjoint(facets) else _with_presence_markers(own, facets)

    def _digests_and_contents(self, facets: Mapping[str, bytes], recurring: Container[str]) -> tuple[_Digests, _Stored]:
        """Return ([(name, digest)], members of a `FacetSet` after `digest`).

        facets: maps each name to its JSON text. recurring: names of the facets that are stored by content in the table
        `facets`.
        """
        names = tuple(sorted(facets))
        digests: _Digests = []
        shape_facets, values, tables = [], [], []
        for key in names:
            raw = facets[key]
            if key in TABLES and raw != b"null":
                known = self._content_of_table_facet(key, raw)
                tables.append(known.content)
            elif key in recurring and raw != b"null":
                known = self._content_of_value_facet(key, raw)
                values.append(known.content)
            else:
                digests.append((key, self._cached_digest(raw)))
                if raw != b"null":
                    shape_facets.append(Facet(key, None, is_deleted(raw)))
                continue
            digests.append((key, known.digest))
            shape_facets.append(known.facet)
        return digests, (names, tuple(shape_facets), tuple(values), tuple(tables))

    def _cached_digest(self, raw: bytes) -> bytes:
        return self._digests.get(raw) or self._digests.put(raw, facet_digest(raw))

    def _content_of_table_facet(self, key: str, raw: bytes) -> "_CachedFacet":
        found = self._tables[key].get(raw)
        if found is None:
            digest, content_hash = content_digests(key, raw)
            content, facet = Content(TABLES[key], content_hash, key, raw), Facet(key, None, is_deleted(raw))
            found = self._tables[key].put(raw, _CachedFacet(digest, facet, content))
        return found

    def _content_of_value_facet(self, key: str, raw: bytes) -> "_CachedFacet":
        found = self._values.get(raw)
        if found is None or found.facet.name != key:
            digest = facet_digest(raw)
            name = digest.hex()
            content, facet = Content(VALUES.name, name, key, raw), Facet(key, name, is_deleted(raw))
            found = self._values.put(raw, _CachedFacet(digest, facet, content))
        return found

    def _cached_artifact(self, raw: bytes) -> str | None:
        if b"trident.artifact.id" not in raw:
            return None
        found = self._artifacts.get(raw)
        if found is None:
            found = self._artifacts.put(raw, read_artifact(decode(raw)) or "")
        return found or None


def _presence_marker(raw: bytes) -> bytes:
    """Return the recurring part of a changing facet: whether it is present, null or deleted."""
    return b"null" if raw == b"null" else b"deleted" if is_deleted(raw) else b""


def _with_presence_markers(own: DatasetFacets, facets: Mapping[str, bytes]) -> DatasetFacets:
    value = {key: decode(facets[key]) for key in _SAID if key in facets}
    return replace(
        own,
        symlinks=read_symlinks(value.get("symlinks")),
        tags=read_tags(value.get("tags")),
        lifecycle=read_lifecycle(value.get("lifecycleStateChange")),
        version=text_at(value.get("version"), "datasetVersion"),
    )


class _CachedFacet(Struct, frozen=True, gc=False):
    """The cached result for one facet text."""

    digest: bytes
    facet: Facet
    content: Content


def _texts_by_name(raw: Raw) -> dict[str, bytes]:
    return {key: bytes(text) for key, text in _members.decode(raw).items()}


def _digest_of_all(digests: _Digests) -> bytes:
    return digest_of(msgpack.encode(digests))
