"""The `facets` of one run, job or dataset, read as a whole: what recurs is worked out once for its text."""

from typing import Any

from msgspec import Raw, Struct, json, msgpack

from headwater.events.decode import decode
from headwater.events.event import Content, Symlink
from headwater.events.facets import Memo, canonical, content_digests, digest_of, facet_digest
from headwater.events.wire import NULL

TABLES = {"schema": "schemas", "columnLineage": "column_lineage", "lineage": "column_lineage"}

_members = json.Decoder(dict[str, Raw])


class FacetSet(Struct, frozen=True, gc=False):
    """What the rest of the pipeline needs of an object of facets.

    digest: over names and digests of the facets, whatever their order; empty without facets.
    contents: of schema and lineage facets; parent, root: run ids of a `parent` facet.
    """

    digest: bytes = b""
    names: tuple[str, ...] = ()
    contents: tuple[Content, ...] = ()
    symlinks: tuple[Symlink, ...] = ()
    parent: str | None = None
    root: str | None = None

    def content_hash(self, key: str) -> str | None:
        """Return the hash of a schema or lineage facet, None where there is none."""
        for content in self.contents:
            if content.key == key:
                return content.content_hash
        return None


NO_FACETS = FacetSet()


def statistics(raw: Raw) -> FacetSet:
    """Read input or output facets: what one run counted at a dataset, digested as a whole."""
    if not raw or raw == NULL:
        return NO_FACETS
    value = decode(bytes(raw))
    return FacetSet(digest_of(canonical(value)), tuple(sorted(value)))


class FacetReader:
    """Reads objects of facets from their raw text. Not thread-safe."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._sets: Memo[FacetSet] = Memo()
        self._digests: Memo[bytes] = Memo()
        self._contents: dict[str, Memo[Content]] = {key: Memo() for key in TABLES}

    def recurring(self, raw: Raw) -> FacetSet:
        """Read facets that come again with the same text: those of jobs and datasets."""
        if not raw:
            return NO_FACETS
        text = bytes(raw)
        return self._sets.get(text) or self._sets.put(text, self.of_run(raw))

    def of_run(self, raw: Raw) -> FacetSet:
        """Read facets of a run: never all the same again, though one by one they may be."""
        if not raw or raw == NULL:
            return NO_FACETS
        facets = _members.decode(raw)
        parent = decode(bytes(facets["parent"])) if "parent" in facets else None
        return FacetSet(
            digest_of(msgpack.encode([(key, self._digest(key, bytes(facets[key]))) for key in sorted(facets)])),
            tuple(sorted(facets)),
            tuple(self._content(key, bytes(facets[key])) for key in TABLES if facets.get(key, NULL) != NULL),
            _symlinks(facets["symlinks"]) if "symlinks" in facets else (),
            text_at(parent, "run", "runId"),
            text_at(parent, "root", "run", "runId"),
        )

    def _digest(self, key: str, raw: bytes) -> bytes:
        found = self._digests.get(raw)
        if found is None and key in TABLES:
            self._content(key, raw)  # leaves the digest behind, from the same decoding
            found = self._digests.get(raw)
        return found or self._digests.put(raw, facet_digest(raw))

    def _content(self, key: str, raw: bytes) -> Content:
        return self._contents[key].get(raw) or self._contents[key].put(raw, self._new_content(key, raw))

    def _new_content(self, key: str, raw: bytes) -> Content:
        digest, content_hash = content_digests(key, raw)
        self._digests.put(raw, digest)
        return Content(TABLES[key], content_hash, key, raw)


def text_at(value: Any, *path: str) -> str | None:
    """Return the text at a path of a decoded value, None where there is none."""
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _symlinks(raw: Raw) -> tuple[Symlink, ...]:
    value = decode(bytes(raw))
    identifiers = value.get("identifiers") if isinstance(value, dict) else None
    found = identifiers if isinstance(identifiers, list) else []
    names = [tuple(text_at(item, part) for part in ("namespace", "name", "type")) for item in found]
    return tuple(Symlink(namespace, name, kind) for namespace, name, kind in names if namespace is not None and name)
