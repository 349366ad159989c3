"""Display names: short names of datasets for people, and the lookup of datasets by a typed name."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name

_ONELAKE_HOST = "@onelake.dfs.fabric.microsoft.com"
_ONELAKE = re.compile(r"abfss://([^/@]++)@onelake\.dfs\.fabric\.microsoft\.com")
_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ITEM_TYPE = re.compile(r"\.(?:lakehouse|warehouse|kqldatabase|sqldatabase|mirroreddatabase)\Z", re.IGNORECASE)
_NAME_PART = re.compile(r"`((?:[^`]|``)*+)`|\"((?:[^\"]|\"\")*+)\"|\[([^\[\]/]*+)\](?=[./]|\Z)|([^./]++)")
_UNQUOTED_PART = re.compile(r"[^\s.`/\"\[\]]+")
_SESSION_CATALOGS = ("spark_catalog", "hive_metastore")
_UNITY = "unitycatalog://"
_QUOTES = re.compile('[`"\\[\\]]')
_MAX_SLASHES = 8
"""The number of slashes in a text that are tried as the end of its namespace."""

_SCHEMA_OF_ALL = "dbo"
"""The schema in which SQL endpoints show the tables of a lakehouse without schemas."""

Parts = tuple[str, ...]


class NameMatches(NamedTuple):
    """The datasets with a name that ends with a text.

    by_canonical_name: datasets with a canonical name that ends with the text.
    by_alias: datasets with another name that ends with the text.
    ignoring_case: datasets with any name that ends with the text only if case is ignored.
    """

    by_canonical_name: set[Name]
    by_alias: set[Name]
    ignoring_case: set[Name]


class DisplayNames:
    """The display names of all known datasets. Names can be added, but not removed.

    The display name is the shortest form of a name that no other dataset has. This form is `lakehouse.schema.table` in
    OneLake, the name in a database, the path in a store, and `catalog.schema.table` for a location with a name in Unity
    Catalog. If another dataset has the same form, the display name starts with the workspace, host or bucket. If this
    form is not unique either, the display name starts with the whole namespace.
    """

    def __init__(self, labels: Mapping[str, str], aliases: Mapping[str, Name]) -> None:
        """Create an empty collection of display names.

        labels: maps the ids of OneLake workspaces and items, in lower case, to their names.
        aliases: maps the casefolded business names of users to the datasets that they mean.
        """
        self._labels, self._user_aliases = labels, aliases
        self._dataset_by_name: dict[Name, Name] = {}
        self._unity_names: dict[Name, Name] = {}
        self._dataset_by_form: dict[str, Name | None] = {}
        self._names_by_last_part: dict[str, list[Name]] = {}
        self._cache: dict[Name, str] = {}

    def add(self, name: Name, dataset: Name) -> None:
        """Add a name of a dataset.

        name: the canonical name of the dataset itself, or another name that refers to the dataset.
        """
        if self._dataset_by_name.get(name) == dataset:
            return
        self._cache.clear()
        if name not in self._dataset_by_name and (last := _last_part(name.name)):
            self._names_by_last_part.setdefault(last, []).append(name)
        self._dataset_by_name[name] = dataset
        if name != dataset:
            if not name.namespace.startswith(_UNITY):
                return
            self._unity_names[dataset] = min(name, self._unity_names.get(dataset, name))
        for form in _display_forms(name, self._labels):
            if self._dataset_by_form.setdefault(form, dataset) != dataset:
                self._dataset_by_form[form] = None

    def display_name(self, dataset: Name) -> str:
        """Return the display name of a dataset."""
        found = self._cache.get(dataset)
        if found is None:
            found = self._cache[dataset] = self._derive_display_name(dataset)
        return found

    def _derive_display_name(self, dataset: Name) -> str:
        unity = self._unity_names.get(dataset)
        forms = chain.from_iterable(_display_forms(name, self._labels) for name in (unity, dataset) if name)
        return next((form for form in forms if self._is_unique(form, dataset)), _full_name(dataset))

    def name_in_messages(self, dataset: Name) -> str:
        """Return the name of a dataset for messages, which is the canonical name for most datasets.

        Datasets with a name in Unity Catalog, or with known OneLake ids in their name, have their display name instead.
        """
        own = dataset in self._unity_names or _with_labels(dataset, self._labels) != dataset
        return self.display_name(dataset) if own else _full_name(dataset)

    def find_unique_dataset(self, text: str) -> Name | None:
        """Return the dataset with a display form or canonical name equal to a text; None for no or several datasets."""
        found = self._dataset_by_form.get(text)
        return found if found is not None or text in self._dataset_by_form else self._find_by_canonical_name(text)

    def _find_by_canonical_name(self, text: str) -> Name | None:
        """Return the dataset of a text `namespace/name`; None for no or several datasets.

        The namespace may contain slashes, so each of the first slashes is tried as the end of the namespace.
        """
        ends = islice(re.finditer("/", text), _MAX_SLASHES)
        names = (Name(text[: end.start()], text[end.end() :]) for end in ends)
        found = {self._dataset_by_name[name] for name in names if name in self._dataset_by_name}
        return found.pop() if len(found) == 1 else None

    def find_by_suffix(self, text: str, namespaces: Set[str] = frozenset()) -> NameMatches:
        """Return the datasets with a name that ends with a text.

        The parts of the text are separated by `.` or `/` and may be quoted.
        namespaces: if not empty, the result contains only datasets with a name in one of these namespaces.
        """
        found = NameMatches(set(), set(), set())
        for parts in _readings(text):
            folded = _casefold_parts(parts)
            for name in self._names_by_last_part.get(folded[-1], ()):
                dataset = self._dataset_by_name[name]
                if namespaces and namespaces.isdisjoint((name.namespace, dataset.namespace)):
                    continue
                ends = [known[-len(parts) :] for known in self._name_parts(name)]
                if parts in ends:
                    (found.by_canonical_name if name == dataset else found.by_alias).add(dataset)
                elif folded in map(_casefold_parts, ends):
                    found.ignoring_case.add(dataset)
            if any(found):
                break
        return found

    def with_special_display_names(self) -> Iterator[tuple[str, Name]]:
        """Yield (display name, dataset) for each dataset in OneLake or with a name in Unity Catalog.

        The display names of these datasets differ from their canonical names. Error messages suggest these names, and
        the search includes them.
        """
        return ((self.display_name(name), name) for name in self._datasets_with_special_names())

    def _datasets_with_special_names(self) -> Iterator[Name]:
        for name, dataset in self._dataset_by_name.items():
            if name == dataset and (dataset in self._unity_names or _match_onelake(name)):
                yield name

    def _is_unique(self, form: str, dataset: Name) -> bool:
        return (
            self._dataset_by_form.get(form, dataset) == dataset
            and self._user_aliases.get(form.casefold(), dataset) == dataset
        )

    def _name_parts(self, name: Name) -> Iterator[Parts]:
        """Yield the parts of a name, once for each way in which a user may write the name."""
        yield _split_name(_full_name(name))
        written = _with_labels(name, self._labels)
        if written != name:
            yield _split_name(_full_name(written))
        onelake = _match_onelake(written)
        table = _table_in_onelake(written.name) if onelake else None
        if onelake:
            item, slash, path = written.name.partition("/")
            for each in dict.fromkeys((item, _ITEM_TYPE.sub("", item))):
                yield (onelake[1], *_split_name(f"{each}{slash}{path}"))
        if onelake and table:
            yield (onelake[1], *table)
            if len(table) == 2:
                yield (onelake[1], table[0], _SCHEMA_OF_ALL, table[1])


def _match_onelake(name: Name) -> re.Match[str] | None:
    return _ONELAKE.fullmatch(name.namespace) if name.namespace.endswith(_ONELAKE_HOST) else None


def _last_part(name: str) -> str:
    """Return the last part of a name, casefolded. Only names with quotes are parsed, because parsing is slow."""
    if _QUOTES.search(name):
        return (_split_name(name) or ("",))[-1].casefold()
    text = name.rstrip("./")
    return text[max(text.rfind("/"), text.rfind(".")) + 1 :].casefold()


def display_form(name: Name, labels: Mapping[str, str]) -> str:
    """Return the shortest form of a name, even if other datasets have the same form.

    labels: maps the ids of OneLake workspaces and items, in lower case, to their names.
    """
    return next(_display_forms(name, labels))


def _display_forms(name: Name, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield the forms of a name without its full namespace, the shortest first."""
    written = _with_labels(name, labels)
    onelake = _match_onelake(written)
    table = _table_in_onelake(written.name) if onelake else None
    if onelake and table:
        yield _join_parts(table)
        yield _join_parts((onelake[1], *table))
    else:
        yield written.name
        place = onelake[1] if onelake else written.namespace.partition("://")[2] or written.namespace
        yield f"{place}/{written.name.lstrip('/')}"


def _with_labels(name: Name, labels: Mapping[str, str]) -> Name:
    """Replace the ids of the workspace and the item in a OneLake name with their names, if `labels` contains them."""
    found = _match_onelake(name)
    if found is None:
        return name
    workspace = labels.get(found[1].lower(), found[1])
    item, slash, path = name.name.partition("/")
    namespace = name.namespace.replace(found[1], workspace, 1)
    return Name(namespace, f"{labels.get(item.lower(), item)}{slash}{path}")


def _table_in_onelake(path: str) -> Parts | None:
    """Return (lakehouse, schema, table) for the folder of a OneLake table, or (lakehouse, table) without a schema.

    Returns None for other folders, and if the path contains the item's id instead of its name.
    """
    item, *rest = path.split("/")
    if len(rest) not in (2, 3) or rest[0] != "Tables" or _GUID.fullmatch(item):
        return None
    return (_ITEM_TYPE.sub("", item), *rest[1:])


def _join_parts(parts: Iterable[str]) -> str:
    return ".".join(each if _UNQUOTED_PART.fullmatch(each) else f"`{each.replace('`', '``')}`" for each in parts)


def _full_name(name: Name) -> str:
    return "/".join(name.parts)


def _split_name(text: str) -> Parts:
    """Split a name at `.` and `/` outside of quotes."""
    found = (
        (tick.replace("``", "`"), quoted.replace('""', '"'), bracketed, plain)
        for tick, quoted, bracketed, plain in _NAME_PART.findall(text)
    )
    return tuple(part for each in found if (part := "".join(each)))


def _readings(text: str) -> Iterator[Parts]:
    """Yield the parts of a name that a user typed, once for each way to read the name, the most likely way first.

    The ways are: with quotes as delimiters, with quotes removed, and both without a leading session catalog.
    """
    parts = _split_name(text)
    read = [parts, _split_name(without_quotes(text))]
    read += [each[1:] for each in read if len(each) > 1 and each[0].casefold() in _SESSION_CATALOGS]
    return (each for each in dict.fromkeys(read) if each)


def _casefold_parts(parts: Sequence[str]) -> Parts:
    return tuple(part.casefold() for part in parts)


def without_quotes(text: str) -> str:
    """Return a name without the characters that quote identifiers in SQL."""
    return _QUOTES.sub("", text)


def path_in_sql(text: str) -> str | None:
    """Return the path in a Spark SQL name such as delta.`s3://lake/orders`; None for other names."""
    found = re.fullmatch(r"(?:delta|parquet|csv|json|orc|avro|iceberg|text|binaryfile)\.`([^`]+)`", text, re.IGNORECASE)
    return found[1] if found and "/" in found[1] else None
