"""Display names: the short names by which people know datasets, and the datasets that a typed name may mean."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name

_ONELAKE_HOST = "@onelake.dfs.fabric.microsoft.com"
_ONELAKE = re.compile(r"abfss://([^/@]++)@onelake\.dfs\.fabric\.microsoft\.com")
_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ITEM_TYPE = re.compile(r"\.(?:lakehouse|warehouse|kqldatabase|sqldatabase|mirroreddatabase)\Z", re.IGNORECASE)
_PART = re.compile(r"`((?:[^`]|``)*+)`|\"((?:[^\"]|\"\")*+)\"|\[([^\[\]/]*+)\](?=[./]|\Z)|([^./]++)")
_PLAIN = re.compile(r"[^\s.`/\"\[\]]+")
_SESSION_CATALOGS = ("spark_catalog", "hive_metastore")
_UNITY = "unitycatalog://"
_QUOTES = re.compile('[`"\\[\\]]')
_SLASHES = 8
"""Slashes of a text at which its namespace may end."""

_SCHEMA_OF_ALL = "dbo"
"""The schema under which SQL endpoints show the tables of a lakehouse without schemas."""

Parts = tuple[str, ...]


class Meant(NamedTuple):
    """The datasets whose name ends as a text does: by their own name, by another name, or only regardless of case."""

    own: set[Name]
    aliases: set[Name]
    in_any_case: set[Name]


class DisplayNames:
    """The display names of all datasets that are known. Names are only added, so a display name never gets shorter.

    The display name is the shortest form of a name that no other dataset has: `lakehouse.schema.table` in OneLake, the
    name in a database, the path in a store, `catalog.schema.table` of a location that Unity Catalog names. If another
    dataset has the same, the workspace, the host or the bucket comes in front, and at last the whole namespace.
    """

    def __init__(self, labels: Mapping[str, str], aliases: Mapping[str, Name]) -> None:
        """Know no dataset yet.

        labels: the names of workspaces and items of OneLake, by id in lower case; aliases: what users call datasets,
        casefolded.
        """
        self._labels, self._user_aliases = labels, aliases
        self._means: dict[Name, Name] = {}
        self._in_unity: dict[Name, Name] = {}
        self._owners: dict[str, Name | None] = {}
        self._by_last: dict[str, list[Name]] = {}
        self._found: dict[Name, str] = {}

    def add(self, name: Name, dataset: Name) -> None:
        """Take a name of a dataset, its own or another."""
        if self._means.get(name) == dataset:
            return
        self._found.clear()
        if name not in self._means and (last := _last_part(name.name)):
            self._by_last.setdefault(last, []).append(name)
        self._means[name] = dataset
        if name != dataset:
            if not name.namespace.startswith(_UNITY):
                return
            self._in_unity[dataset] = min(name, self._in_unity.get(dataset, name))
        for form in _forms(name, self._labels):
            if self._owners.setdefault(form, dataset) != dataset:
                self._owners[form] = None

    def of(self, dataset: Name) -> str:
        """Return the display name of a dataset."""
        found = self._found.get(dataset)
        if found is None:
            found = self._found[dataset] = self._of(dataset)
        return found

    def _of(self, dataset: Name) -> str:
        unity = self._in_unity.get(dataset)
        forms = chain.from_iterable(_forms(name, self._labels) for name in (unity, dataset) if name)
        return next((form for form in forms if self._is_free(form, dataset)), _whole(dataset))

    def shown(self, dataset: Name) -> str:
        """Return a name for messages: the canonical one, or the display name where that has ids or no name at all."""
        own = dataset in self._in_unity or _written(dataset, self._labels) != dataset
        return self.of(dataset) if own else _whole(dataset)

    def called(self, text: str) -> Name | None:
        """Return the dataset that alone has a text as a form of its name, or as its whole canonical name."""
        found = self._owners.get(text)
        return found if found is not None or text in self._owners else self._by_whole_name(text)

    def _by_whole_name(self, text: str) -> Name | None:
        """Return the dataset of a canonical name behind its namespace, if it can be read in one way alone."""
        ends = islice(re.finditer("/", text), _SLASHES)
        names = (Name(text[: end.start()], text[end.end() :]) for end in ends)
        found = {self._means[name] for name in names if name in self._means}
        return found.pop() if len(found) == 1 else None

    def ending(self, text: str, namespaces: Set[str] = frozenset()) -> Meant:
        """Return the datasets whose name ends as a text does, with `.` or `/` between parts, quoted or not.

        namespaces: only of datasets with a name in these; none means any.
        """
        found = Meant(set(), set(), set())
        for parts in _spellings(text):
            folded = _folded(parts)
            for name in self._by_last.get(folded[-1], ()):
                dataset = self._means[name]
                if namespaces and namespaces.isdisjoint((name.namespace, dataset.namespace)):
                    continue
                ends = [known[-len(parts) :] for known in self._parts(name)]
                if parts in ends:
                    (found.own if name == dataset else found.aliases).add(dataset)
                elif folded in map(_folded, ends):
                    found.in_any_case.add(dataset)
            if any(found):
                break
        return found

    def labelled(self) -> Iterator[tuple[str, Name]]:
        """Yield the display names that differ from the canonical names by more than the namespace, with the datasets.

        Errors suggest them, and search looks at them.
        """
        return ((self.of(name), name) for name in self._differing())

    def _differing(self) -> Iterator[Name]:
        for name, dataset in self._means.items():
            if name == dataset and (dataset in self._in_unity or _onelake(name)):
                yield name

    def _is_free(self, form: str, dataset: Name) -> bool:
        return (
            self._owners.get(form, dataset) == dataset and self._user_aliases.get(form.casefold(), dataset) == dataset
        )

    def _parts(self, name: Name) -> Iterator[Parts]:
        """Yield the parts of a name, in each way to write it."""
        yield _parts_of(_whole(name))
        written = _written(name, self._labels)
        if written != name:
            yield _parts_of(_whole(written))
        onelake = _onelake(written)
        table = _table_in_onelake(written.name) if onelake else None
        if onelake:
            item, slash, path = written.name.partition("/")
            for each in dict.fromkeys((item, _ITEM_TYPE.sub("", item))):
                yield (onelake[1], *_parts_of(f"{each}{slash}{path}"))
        if onelake and table:
            yield (onelake[1], *table)
            if len(table) == 2:
                yield (onelake[1], table[0], _SCHEMA_OF_ALL, table[1])


def _onelake(name: Name) -> re.Match[str] | None:
    return _ONELAKE.fullmatch(name.namespace) if name.namespace.endswith(_ONELAKE_HOST) else None


def _last_part(name: str) -> str:
    """Return the last part of a name, casefolded; names without quotes, which most are, are not read whole."""
    if _QUOTES.search(name):
        return (_parts_of(name) or ("",))[-1].casefold()
    text = name.rstrip("./")
    return text[max(text.rfind("/"), text.rfind(".")) + 1 :].casefold()


def display_form(name: Name, labels: Mapping[str, str]) -> str:
    """Return the shortest form of a name, whether other datasets have it or not. labels: as for `DisplayNames`."""
    return next(_forms(name, labels))


def _forms(name: Name, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield the forms of a name that are shorter than the whole name, the shortest first."""
    written = _written(name, labels)
    onelake = _onelake(written)
    table = _table_in_onelake(written.name) if onelake else None
    if onelake and table:
        yield _joined(table)
        yield _joined((onelake[1], *table))
    else:
        yield written.name
        place = onelake[1] if onelake else written.namespace.partition("://")[2] or written.namespace
        yield f"{place}/{written.name.lstrip('/')}"


def _written(name: Name, labels: Mapping[str, str]) -> Name:
    """Return a name with the names of workspace and item in place of their ids."""
    found = _onelake(name)
    if found is None:
        return name
    workspace = labels.get(found[1].lower(), found[1])
    item, slash, path = name.name.partition("/")
    namespace = name.namespace.replace(found[1], workspace, 1)
    return Name(namespace, f"{labels.get(item.lower(), item)}{slash}{path}")


def _table_in_onelake(path: str) -> Parts | None:
    """Return lakehouse, schema and table of a folder of a table; None of other folders, and of an unknown item."""
    item, *rest = path.split("/")
    if len(rest) not in (2, 3) or rest[0] != "Tables" or _GUID.fullmatch(item):
        return None
    return (_ITEM_TYPE.sub("", item), *rest[1:])


def _joined(parts: Iterable[str]) -> str:
    return ".".join(each if _PLAIN.fullmatch(each) else f"`{each.replace('`', '``')}`" for each in parts)


def _whole(name: Name) -> str:
    return "/".join(name.parts)


def _parts_of(text: str) -> Parts:
    """Split a name at `.` and `/` outside of quotes."""
    found = (
        (tick.replace("``", "`"), quoted.replace('""', '"'), bracketed, plain)
        for tick, quoted, bracketed, plain in _PART.findall(text)
    )
    return tuple(part for each in found if (part := "".join(each)))


def _spellings(text: str) -> Iterator[Parts]:
    """Yield the parts of a typed name in each way to read it, the most likely first."""
    parts = _parts_of(text)
    read = [parts, _parts_of(without_quotes(text))]
    read += [each[1:] for each in read if len(each) > 1 and each[0].casefold() in _SESSION_CATALOGS]
    return (each for each in dict.fromkeys(read) if each)


def _folded(parts: Sequence[str]) -> Parts:
    return tuple(part.casefold() for part in parts)


def without_quotes(text: str) -> str:
    """Return a name without the characters that quote identifiers in SQL."""
    return _QUOTES.sub("", text)


def path_in_sql(text: str) -> str | None:
    """Return the location of a table that Spark SQL names by its path, such as delta.`s3://lake/orders`."""
    found = re.fullmatch(r"(?:delta|parquet|csv|json|orc|avro|iceberg|text|binaryfile)\.`([^`]+)`", text, re.IGNORECASE)
    return found[1] if found and "/" in found[1] else None
