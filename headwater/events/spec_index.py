"""Finds the published OpenLineage schema of a schema URL. Reads copies in this package, not the network."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

import msgspec

PUBLISHED = "https://openlineage.io/"
CORE_VERSION = "2-0-2"
CORE = f"{PUBLISHED}spec/{CORE_VERSION}/OpenLineage.json"

Lookup = Literal["exact", "newest", "base", "unmapped", "missing"]

_LONGEST_URL = 500
_UNTYPED = ("BaseFacet", "RunFacet", "JobFacet", "DatasetFacet", "InputDatasetFacet", "OutputDatasetFacet")
# Only URLs of OpenLineage and `file:` (builds of its clients, as in Microsoft Fabric) refer to its schemas:
# a company may publish another TagsJobFacet.json.
_OPENLINEAGE = re.compile(
    r"(?:https?://openlineage\.io/|https?://github\.com/OpenLineage/"
    r"|https?://raw\.githubusercontent\.com/OpenLineage/|file:)"
    r"(?:[^#]*/)?(?P<file>\w+)\.json(?:#(?P<pointer>.*))?"
)
_VERSION = re.compile(r"/(\d+-\d+-\d+)/\w+\.json")


@dataclass(frozen=True)
class FacetSchema:
    """The schema of a facet's `_schemaURL`.

    lookup: `exact` if this package has the file in the version of the URL; `newest` if the newest version of the file
    is used, because the URL has no version or a version that this package lacks; `base` for an untyped custom facet;
    `unmapped` for an unknown schema; `missing` if the facet has no `_schemaURL`.
    url: URL of the published definition, with fragment. It is None unless `lookup` is `exact` or `newest`.
    """

    lookup: Lookup
    url: str | None = None


def facet_schema(schema_url: object) -> FacetSchema:
    """Find the published schema of a facet's `_schemaURL`, which may be any value."""
    if not isinstance(schema_url, str) or not schema_url:
        return FacetSchema("missing")
    if len(schema_url) > _LONGEST_URL:  # keeps huge texts out of the cache
        return FacetSchema("unmapped")
    return _find_schema(schema_url)


def published_schema(url: str) -> Any:
    """Return the decoded copy of the schema file at `url`. The validator calls this function instead of the network.

    Raises LookupError for every other URL.
    """
    path = url.removeprefix(PUBLISHED).partition("#")[0]
    if not url.startswith(PUBLISHED) or path not in _published_paths():
        raise LookupError(f"{url[:_LONGEST_URL]!r} is not a published OpenLineage schema")
    return _read_spec_file(path)


@lru_cache(maxsize=2048)
def _find_schema(schema_url: str) -> FacetSchema:
    match = _OPENLINEAGE.fullmatch(schema_url)
    if match is None:
        return FacetSchema("unmapped")
    wanted = match["pointer"] or ""
    if match["file"] == "OpenLineage":
        untyped = wanted.removeprefix("/$defs/") in _UNTYPED
        return FacetSchema("base" if untyped else "unmapped")
    name = _names_by_lower_case().get(match["file"].casefold())
    version = _VERSION.search(schema_url.partition("#")[0])
    return _published_facet_schema(name, version[1] if version else None, wanted) if name else FacetSchema("unmapped")


def _published_facet_schema(name: str, version: str | None, pointer: str) -> FacetSchema:
    lookup, version = _matching_version(_indexed_facets()[name], version)
    path = f"spec/facets/{version}/{name}.json"
    definition = _definition_pointer(path, name, pointer.rpartition("/")[2]) if version else None
    if definition is None:
        return FacetSchema("unmapped")
    return FacetSchema(lookup, f"{PUBLISHED}{path}#/$defs/{definition}")


def _matching_version(entry: Mapping[str, Any], version: str | None) -> tuple[Lookup, str | None]:
    newest: str = entry["newest"]
    if version in entry["versions"]:
        return "exact", version
    if version is None or _major_version(version) == _major_version(newest):
        return "newest", newest
    return "unmapped", None  # another major version may be incompatible


def _major_version(version: str) -> str:
    return version.partition("-")[0]


def _definition_pointer(path: str, name: str, wanted: str) -> str | None:
    """Return the key of a facet definition in a schema file, or None.

    wanted: the key that the URL names. If the file lacks it, the definition with the name of the file is used.
    """
    definitions = _read_spec_file(path)["$defs"]
    facets = [each for each in (wanted, name) if each in definitions and each.endswith("Facet")]
    return facets[0] if facets else None


@cache
def _names_by_lower_case() -> Mapping[str, str]:
    """Map lower-case names to names: SqlJobFacet.json is an old spelling of SQLJobFacet.json."""
    return {name.casefold(): name for name in _indexed_facets()}


@cache
def _published_paths() -> frozenset[str]:
    core = {f"spec/{version}/OpenLineage.json" for version in _load_index()["core"]["versions"]}
    facets = {f"spec/facets/{v}/{name}.json" for name, entry in _indexed_facets().items() for v in entry["versions"]}
    return frozenset(core | facets)


def _indexed_facets() -> Mapping[str, Any]:
    facets: Mapping[str, Any] = _load_index()["facets"]
    return facets


@cache
def _load_index() -> Any:
    return _read_spec_file("index.json")


@cache
def _read_spec_file(path: str) -> Any:
    return msgspec.json.decode(files("headwater.events").joinpath("spec", path).read_bytes())
