"""Operations of name rules that patterns cannot express, for hosts, ports, databases in URLs, slashes and paths."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from headwater.lineage.names.database_addresses import (
    CACHED_NAMESPACES,
    CATALOG,
    DATABASE,
    SCHEMA,
    first_host,
    first_index,
    host_list,
    oracle_address,
    parse_options,
    sql_server_address,
    table_options,
    uri_parts,
)
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.patterns import DATE

PATHS = ("database", "schema", "database/schema", "instance")
"""The possible meanings of the path in a database address."""

_PART_FILE = re.compile(r"part-(?:[a-z]-)?[0-9]{5,}+(?:[-_.].*)?", re.DOTALL)
_KEY_VALUE = re.compile(r"[^=]++=.++", re.DOTALL)
_WHOLE_DATE = re.compile(DATE)
_MONTH_FOLDERS = r"/(?:19|20)[0-9]{2}/(?:0[1-9]|1[0-2])"
_DAY_FOLDER = r"/(?:0[1-9]|[12][0-9]|3[01])"
_DATE_FOLDERS = re.compile(rf"{_MONTH_FOLDERS}(?:{_DAY_FOLDER}(?:/[0-9]{{2}}){{0,2}})?\Z")
_LONGEST_DATE = len("/2026/11/20/07/30")
_DATE_SEGMENT = rf"/(?:[^=/]{{1,64}}=)?{DATE}"
_DATE_BETWEEN = re.compile(rf"(?<=.)(?:{_DATE_SEGMENT}|{_MONTH_FOLDERS}{_DAY_FOLDER}(?:/[0-2][0-9])?)(?=/)")
_STAGING_FOLDER = re.compile(
    r"(?<=[^/])/++(?:_temporary|\.spark-staging-|\.hive-staging_hive_|_spark_metadata)(?=[^/]*(?:/|\Z))"
)
"""Matches the start of a staging folder.

Hadoop's committer, Spark's dynamic overwrite, Hive, and Spark's log of a file stream use such folders.
"""

_DATED_FILE = re.compile(
    rf"(?P<name>[^/._-])[-_.]{DATE}(?P<extension>(?:\.[A-Za-z][A-Za-z0-9]{{0,9}}){{1,3}})\Z", re.DOTALL
)
_ANY_DATE = re.compile(rf"{DATE}|{_MONTH_FOLDERS}{_DAY_FOLDER}")
_SEPARATOR = re.compile(r"[./]")
_MAY_HAVE_DATE = re.compile(r"(?:19|20)[0-9]{2}")
_NAME_OPTIONS = re.compile(r"([\w$#-]++)[;:][A-Za-z]\w*+=")
_CATALOG_AND_SCHEMA = re.compile(r"\A([\w-]++)/([\w-]++)\.")
_PLAIN_UPPER = re.compile(r'(?<![^.])"[A-Z_][A-Z0-9_$#]*+"(?![^.])')
_PLAIN_LOWER = re.compile(r"""(?<![^.])(?:"[a-z_][a-z0-9_$]*+"|`[a-z_][a-z0-9_$]*+`|\[[a-z_][a-z0-9_$]*+\])(?![^.])""")
_PLAIN_QUOTED = re.compile(r"""(?<![^.])(?:"[a-z_][a-z0-9_$]*+"|`[A-Za-z_][A-Za-z0-9_$-]*+`)(?![^.])""")
_WHOLE_IN_BACKTICKS = re.compile(r"`([A-Za-z0-9_$-]++(?:\.[A-Za-z0-9_$-]++)++)`")
_IDENTIFIER = re.compile(r"""(?<![^.])(?:\[[^]]*+\]|"[^"]*+"|`[^`]*+`)(?![^.])""", re.DOTALL)


def uri_form(name: Name) -> Name:
    """Convert the scheme and host of the namespace to lower case and remove trailing slashes.

    Hosts with characters outside ASCII stay as they are.
    """
    form = _uri_form(name.namespace)
    return name if form == name.namespace else Name(form, name.name)


@lru_cache(CACHED_NAMESPACES)
def _uri_form(namespace: str) -> str:
    if namespace.startswith("file:/"):
        return namespace.rstrip("/")
    found = uri_parts(namespace)
    if found is None:
        return namespace
    scheme, authority, rest = found
    user, at, host = authority.rpartition("@")
    host = host.lower() if host.isascii() else host
    return f"{scheme.lower()}{user}{at}{_host_list(host)}{rest.rstrip('/')}"


def _host_list(hosts: str) -> str:
    """Sort the hosts in a comma-separated list and remove duplicates, because drivers list hosts in different orders.

    SQL Server's form `host,1433` of a host with a port becomes `host:1433`.
    """
    found = hosts.split(",")
    if len(found) == 1:
        return hosts
    if len(found) == 2 and found[1].isdecimal():
        return ":".join(found)
    return ",".join(sorted({host for host in found if host}))


def without_port(name: Name, port: int) -> Name:
    """Remove the port of each host in the namespace if it equals `port`, the default port of the system."""
    if f":{port}" not in name.namespace:
        return name
    found = uri_parts(name.namespace)
    if found is None:
        return name
    scheme, authority, rest = found
    hosts = [host.removesuffix(f":{port}") or host for host in authority.split(",")]
    return Name(f"{scheme}{','.join(dict.fromkeys(hosts))}{rest}", name.name)


def with_database(name: Name, levels: int, path_meaning: str = "database") -> Name:
    """Reduce the namespace to scheme, host and port, and add a database found there as the first part of the name.

    The namespace also keeps the name of an instance. If the name lacks a schema and the address lists several schemas,
    the name stays the same.
    levels: the number of parts in a full name. A name with this many parts gets no database.
    path_meaning: the meaning of the path in the address, one of `PATHS`.
    """
    found = uri_parts(name.namespace)
    if found is None:
        return name
    scheme, authority, rest = found
    table = _without_added_parts(name.name, levels, path_meaning)
    if not rest:
        return Name(scheme + (authority.rpartition("@")[2] or authority), table)
    path, options = _path_and_options(rest)
    parts = count_name_parts(table)
    authority, path = _server_and_path(authority, path, options, table if path_meaning == "instance" else None)
    database, schema = _database_and_schema_of_address(path, options, path_meaning)
    if "/" in database or (parts < levels - 1 and "," in schema):
        return name
    known = [database, schema] if parts < levels - 1 else [database] if parts < levels else []
    return Name(scheme + (authority.rpartition("@")[2] or authority), ".".join([*filter(None, known), table]))


def _server_and_path(authority: str, path: str, options: Mapping[str, str], table: str | None) -> tuple[str, str]:
    """Return (server, path) of an address; the server consists of host, port and instance.

    If the path is the instance, the returned path is empty.
    table: the name of the table if the path may be an instance, as in names of OpenLineage's extractor; otherwise None.
    If the name of the table begins with the path, the path is the database.
    """
    if (port := options.get("dbs_port", "")).isdecimal() and ":" not in authority:  # Teradata's
        authority = f"{authority}:{port}"
    authority = options.get("cloudsqlinstance") or authority
    instance = options.get("instancename") or options.get("instance") or ""
    if table is not None and not instance and table.partition(".")[0].casefold() != path.casefold():
        instance, path = path, ""
    if not instance:
        return authority, path
    host, colon, port = authority.partition(":")
    return (authority, path) if "\\" in host else (f"{host}\\{instance.lower()}{colon}{port}", path)


def _database_and_schema_of_address(path: str, options: Mapping[str, str], path_meaning: str) -> tuple[str, str]:
    """Return (database, schema) from the path and the options of an address, each empty if the address lacks it."""
    catalog = next((options[key] for key in CATALOG if options.get(key)), "")
    database = next((options[key] for key in DATABASE if options.get(key)), "")
    schema = next((options[key] for key in SCHEMA if options.get(key)), "")
    if catalog:
        return catalog, schema or database
    if path_meaning == "schema":
        return database, schema or (path if "/" not in path else "")
    if path_meaning == "database/schema" and path.count("/") == 1:
        database, _, schema = path.partition("/")
        return database, schema
    return path or database, schema


def _without_added_parts(name: str, levels: int, path_meaning: str) -> str:
    """Remove the parts that OpenLineage's extractor adds to a table's name.

    The extractor treats everything after the host as the database, including options (`SAMPLE:user=u;.HR.EMP`). It also
    adds the database to names that already start with a database (`shop.shop.public.orders`), and writes
    `catalog/schema.table`.
    """
    if "=" in name and (found := _NAME_OPTIONS.match(name)):
        name = _without_options(name, found[1] if path_meaning != "schema" else "", levels)
    if path_meaning == "database/schema":
        name = _CATALOG_AND_SCHEMA.sub(r"\1.\2.", name, count=1)
    if (
        name.count(".") < levels
        or (surplus := count_name_parts(name) - levels) not in (1, 2)
        or _IDENTIFIER.search(name)
    ):
        return name
    parts = name.split(".")
    for repeated in (surplus, 2):
        if [*map(str.casefold, parts[repeated - surplus : repeated])] == [
            *map(str.casefold, parts[repeated : repeated + surplus])
        ]:
            return ".".join(parts[: repeated - surplus] + parts[repeated:])
    return name


def _without_options(name: str, database: str, levels: int) -> str:
    """Return `database.table` for `database;key=value.table`; return the name itself if the value's end is ambiguous.

    levels: the number of parts in a full name. If the table already has this many parts, the database is not added.
    """
    until = first_index('"`[', name)
    last = name.rfind("=", 0, until)
    table = name[max(last, name.rfind("/", 0, until)) :].partition(".")[2]
    if not table or "@" in name[last:]:
        return name
    if count_name_parts(table) >= levels:
        return table
    return f"{database}.{table}" if database else name


def count_name_parts(name: str) -> int:
    """Return the number of parts between dots in a table's name; dots inside `[ ]` or quotes do not count."""
    return _IDENTIFIER.sub("", name).count(".") + 1


def root_path(name: Name) -> Name:
    """Add a slash in front of a path that does not start with a slash."""
    return name if name.name.startswith("/") or not name.name else Name(name.namespace, f"/{name.name}")


def _path_and_options(rest: str) -> tuple[str, dict[str, str]]:
    """Split the part of a URL after the hosts into (path, options); options map names in lower case to values.

    Options begin after `;` or `?`, in DB2 after `:`. Teradata writes the options instead of the path.
    """
    cut = first_index(";?:", rest)
    path = rest[:cut].strip("/")
    if "=" in path:
        return "", parse_options(path.replace(",", ";"))
    return path, parse_options(rest[cut:])


def trim_slashes(name: Name) -> Name:
    """Remove the slashes around the name of an object; the root of a store is `/`."""
    return Name(name.namespace, name.name.strip("/") or "/") if name.name else name


def trim_end(name: Name) -> Name:
    """Remove the slashes at the end of a path; the root is `/`."""
    return Name(name.namespace, name.name.rstrip("/") or "/") if name.name else name


def fold_tail(name: Name) -> Name:
    """Replace the path of a file or folder inside a table with the table's folder.

    At the end of a path, this removes part files, `key=value` folders, patterns such as `*.parquet` and date folders.
    Anywhere in a path, this removes folders with a whole date and the folders in which Spark and Hive store uncommitted
    data.
    """
    path = without_dates(name.name)
    may_be_staged = "/_" in path or "/." in path
    end = staged.start() if may_be_staged and (staged := _STAGING_FOLDER.search(path)) else len(path)
    while (slash := _removable_segment(path, end)) > 0:
        folder = slash
        while folder > 0 and path[folder - 1] == "/":
            folder -= 1
        if folder == 0:
            break
        end = folder
    return Name(name.namespace, path[:end]) if end < len(name.name) else name


def _removable_segment(path: str, end: int) -> int:
    """Return the index of the slash before the segments to remove from the end of `path[:end]`.

    Returns 0 or less if there is no segment to remove.
    """
    dates = _DATE_FOLDERS.search(path, max(0, end - _LONGEST_DATE), end)
    if dates:
        return dates.start()
    slash = path.rfind("/", 0, end)
    segment = path[slash + 1 : end]
    folded = (
        _PART_FILE.fullmatch(segment)
        or _KEY_VALUE.fullmatch(segment)
        or "*" in segment
        or _WHOLE_DATE.fullmatch(segment)
    )
    return slash if folded else 0


def without_dates(path: str) -> str:
    """Remove folders with a whole date between other folders, and a date at the end of a file name.

    Such folders and files contain only the rows of one day.
    """
    if not _MAY_HAVE_DATE.search(path):
        return path
    return _DATED_FILE.sub(r"\g<name>\g<extension>", _DATE_BETWEEN.sub("", path))


def loses_part(sent: str, canonical: str) -> bool:
    """Return whether a canonical name lacks a date or the end of the last part of the name as sent.

    Examples of such ends are `$20260301` in `t$20260301` and `__dbt_tmp` in `t__dbt_tmp`.
    """
    sent, canonical = sent.casefold(), canonical.casefold()
    if _MAY_HAVE_DATE.search(sent) and any(date[0] not in canonical for date in _ANY_DATE.finditer(sent)):
        return True
    one, other = (_SEPARATOR.split(text.strip('/"`[]'))[-1] for text in (sent, canonical))
    return 0 < len(other) < len(one) and one.startswith(other)


def lower(name: Name) -> Name:
    """Convert a name to lower case, also inside quotes.

    Hive, Glue and Trino do the same with identifiers, and SQL Server compares them without case.
    """
    return Name(name.namespace, _PLAIN_LOWER.sub(_without_quotes, name.name.lower()))


def upper_unquoted(name: Name) -> Name:
    """Convert the parts of a name outside double quotes to upper case, as Oracle and Snowflake do.

    Quotes around a part that is in upper case have no effect, so they are removed.
    """
    pieces = name.name.split('"')
    pieces[::2] = [piece.upper() if piece.isascii() else piece for piece in pieces[::2]]
    return Name(name.namespace, _PLAIN_UPPER.sub(_without_quotes, '"'.join(pieces)))


def plain_quotes(name: Name) -> Name:
    """Remove quotes without effect: double quotes around a name in lower case, and backticks around plain names."""
    if '"' not in name.name and "`" not in name.name:
        return name
    whole = _WHOLE_IN_BACKTICKS.fullmatch(name.name) if name.namespace == "bigquery" else None
    return Name(name.namespace, whole[1] if whole else _PLAIN_QUOTED.sub(_without_quotes, name.name))


def _without_quotes(quoted: re.Match[str]) -> str:
    return quoted[0][1:-1]


OPERATIONS: dict[str, Callable[[Name], Name]] = {
    "uri_form": uri_form,
    "table_options": table_options,
    "sql_server_address": sql_server_address,
    "host_list": host_list,
    "first_host": first_host,
    "root_path": root_path,
    "oracle_address": oracle_address,
    "trim_slashes": trim_slashes,
    "trim_end": trim_end,
    "fold_tail": fold_tail,
    "plain_quotes": plain_quotes,
    "lower": lower,
    "upper_unquoted": upper_unquoted,
}
