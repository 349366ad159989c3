"""What patterns cannot say about names: hosts, ports, databases in URLs, slashes, tails of paths."""

import re
from collections.abc import Callable

from headwater.lineage.names.dataset_name import Name

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+://)([^/;?]++)(.*)", re.DOTALL)
_PART = re.compile(r"part-(?:[a-z]-)?[0-9]{5,}+(?:[-_.].*)?", re.DOTALL)
_KEY_VALUE = re.compile(r"[^=]++=.++", re.DOTALL)
_DAY = r"(?:19|20)[0-9]{2}(?P<mark>[-_.]?)(?:0[1-9]|1[0-2])(?P=mark)(?:0[1-9]|[12][0-9]|3[01])"
_TIME = r"(?:[T_ -]?[0-9]{2}(?:[:_-]?[0-9]{2}){0,2}Z?)?"
_WHOLE_DATE = re.compile(_DAY + _TIME)
_FOLDERS = r"/(?:19|20)[0-9]{2}/(?:0[1-9]|1[0-2])"
_DAY_FOLDER = r"/(?:0[1-9]|[12][0-9]|3[01])"
_DATE_FOLDERS = re.compile(rf"{_FOLDERS}(?:{_DAY_FOLDER}(?:/[0-9]{{2}}){{0,2}})?\Z")
_LONGEST_DATE = len("/2026/11/20/07/30")
_DATE_SEGMENT = rf"/(?:[^=/]{{1,64}}=)?{_DAY}{_TIME}"
_DATE_BETWEEN = re.compile(rf"(?<=.)(?:{_DATE_SEGMENT}|{_FOLDERS}{_DAY_FOLDER}(?:/[0-2][0-9])?)(?=/)")
_MAY_HAVE_DATE = re.compile(r"(?:19|20)[0-9]{2}")
_DATABASE = ("database", "databasename", "db")
_SCHEMA = {"schema", "currentschema", "searchpath"}
_TELLING = {*_DATABASE, *_SCHEMA, "instancename"}
_PLAIN_UPPER = re.compile(r'(?<![^.])"[A-Z_][A-Z0-9_$#]*+"(?![^.])')
_PLAIN_LOWER = re.compile(r"""(?<![^.])(?:"[a-z_][a-z0-9_$]*+"|`[a-z_][a-z0-9_$]*+`|\[[a-z_][a-z0-9_$]*+\])(?![^.])""")
_IDENTIFIER = re.compile(r"""(?<![^.])(?:\[[^]]*+\]|"[^"]*+"|`[^`]*+`)(?![^.])""", re.DOTALL)


def uri_form(name: Name) -> Name:
    """Lower-case scheme and host of the namespace, drop its trailing slashes; hosts beyond ASCII stay."""
    if name.namespace.startswith("file:/"):
        return Name(name.namespace.rstrip("/"), name.name)
    found = _URI.fullmatch(name.namespace)
    if found is None:
        return name
    scheme, authority, rest = found.groups()
    user, at, host = authority.rpartition("@")
    host = host.lower() if host.isascii() else host
    return Name(f"{scheme.lower()}{user}{at}{_host_list(host)}{rest.rstrip('/')}", name.name)


def _host_list(hosts: str) -> str:
    """Return a list of hosts as a set, sorted: each driver lists the hosts of one server in an order of its own.

    `host,1433` is how SQL Server writes a port.
    """
    found = hosts.split(",")
    if len(found) == 1:
        return hosts
    if len(found) == 2 and found[1].isdecimal():
        return ":".join(found)
    return ",".join(sorted({host for host in found if host}))


def without_port(name: Name, port: int) -> Name:
    """Drop the port of each host in the namespace if it is the system's default."""
    found = _URI.fullmatch(name.namespace)
    if found is None or f":{port}" not in found[2]:
        return name
    hosts = [host.removesuffix(f":{port}") or host for host in found[2].split(",")]
    return Name(f"{found[1]}{','.join(dict.fromkeys(hosts))}{found[3]}", name.name)


def with_database(name: Name, levels: int) -> Name:
    """Leave scheme, host and port in the namespace; a database found there becomes the name's first part.

    levels: of how many parts, joined by dots, a full name consists; a full name needs no database. What could tell two
    tables apart stays: an instance, a schema beside a name that is not full.
    """
    found = _URI.fullmatch(name.namespace)
    if found is None:
        return name
    scheme, authority, rest = found.groups()
    path, options = _path_and_options(rest)
    if options.get("dbs_port", "").isdecimal() and ":" not in authority:  # Teradata's
        authority = f"{authority}:{options['dbs_port']}"
    database = path or next((options[key] for key in _DATABASE if options.get(key)), "")
    parts = count_parts(name.name)
    is_full, has_schema = parts >= levels, parts >= levels - 1
    if "/" in path or "instancename" in options or (not has_schema and _SCHEMA & options.keys()):
        return name
    full = name.name if is_full or not database else f"{database}.{name.name}"
    return Name(scheme + (authority.rpartition("@")[2] or authority), full)


def count_parts(name: str) -> int:
    """Return of how many parts joined by dots a table's name consists; a dot inside `[ ]` or quotes joins nothing."""
    return _IDENTIFIER.sub("", name).count(".") + 1


def table_options(name: Name) -> Name:
    """Keep only those options of a JDBC URL that say which table is meant; the others say how to connect."""
    found = _URI.fullmatch(name.namespace)
    if found is None:
        return name
    scheme, authority, rest = found.groups()
    cut = _first_of(";?", rest)
    pairs = (pair for pair in re.split("[;?&]", rest[cut:]) if pair.partition("=")[0].strip().lower() in _TELLING)
    return Name(";".join([f"{scheme}{authority}{rest[:cut]}", *pairs]), name.name)


def _first_of(marks: str, text: str) -> int:
    """Return the place of the first of some marks, or the length of the text without any."""
    return min((at for mark in marks if (at := text.find(mark)) >= 0), default=len(text))


def _path_and_options(rest: str) -> tuple[str, dict[str, str]]:
    """Return what follows the hosts of a URL: the path, and the options by name in lower case.

    Options begin behind `;` or `?`, in DB2 behind `:`. Teradata writes them in place of the path.
    """
    cut = _first_of(";?:", rest)
    path = rest[:cut].strip("/")
    if "=" in path:
        return "", _options(path.replace(",", ";"))
    return path, _options(rest[cut:])


def _options(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in re.split("[;?&:]", text))
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


_ORACLE_HOST = re.compile(r"\(\s*HOST\s*=\s*([^()\s]++)\s*\)", re.IGNORECASE)
_ORACLE_PORT = re.compile(r"\(\s*PORT\s*=\s*([0-9]++)\s*\)", re.IGNORECASE)
_ORACLE_SERVICE = re.compile(r"\(\s*(?:SERVICE_NAME|SID)\s*=\s*([^()\s]++)\s*\)", re.IGNORECASE)
_ORACLE_PROTOCOL = re.compile(r"(?:[A-Za-z]++:)?//")


def oracle_address(name: Name) -> Name:
    """Write the address of an Oracle driver as `oracle://host:port/service`.

    Forms: `oracle:thin:@//host:port/service`, `@host:port:sid`, `@tcps://…`, `@ldap://host/service,cn=…` and TNS
    descriptors `@(DESCRIPTION=…)`, of which the first host counts.
    Source: Oracle's JDBC guide, "Data Sources and URLs".
    """
    address = name.namespace.partition("@")[2] or name.namespace.partition(":")[2].partition(":")[2]
    if "(" in address:
        found = [pattern.search(address) for pattern in (_ORACLE_HOST, _ORACLE_PORT, _ORACLE_SERVICE)]
        host, port, service = (each[1] if each else "" for each in found)
    else:
        protocol = _ORACLE_PROTOCOL.match(address)
        server, slash, service = address[protocol.end() if protocol else 0 :].partition("?")[0].partition("/")
        host, _, rest = server.partition(":")
        port, _, sid = rest.partition(":")
        if port and not port.isdecimal():
            port, sid = "", rest  # `host:sid`
        service = (service.partition(",")[0].partition(":")[0].partition("/")[0] if slash else sid).strip()
    if not host:
        return name
    return Name(f"oracle://{host}{':' * bool(port)}{port}{'/' * bool(service)}{service}", name.name)


def trim_slashes(name: Name) -> Name:
    """Drop the slashes around an object's name; the root of a store is `/`."""
    return Name(name.namespace, name.name.strip("/") or "/") if name.name else name


def trim_end(name: Name) -> Name:
    """Drop the slashes behind a path; the root is `/`."""
    return Name(name.namespace, name.name.rstrip("/") or "/") if name.name else name


def fold_tail(name: Name) -> Name:
    """Fold what lies below a table into its folder.

    These are part files, `key=value` folders, patterns such as `*.parquet` and folders of a date at the end of a path,
    and folders of a whole date anywhere.
    """
    path = _without_dates(name.name)
    end = len(path)
    while (slash := _tail(path, end)) > 0:
        folder = slash
        while folder > 0 and path[folder - 1] == "/":
            folder -= 1
        if folder == 0:
            break
        end = folder
    return Name(name.namespace, path[:end]) if end < len(name.name) else name


def _tail(path: str, end: int) -> int:
    """Return where the slash stands before what is folded at the end of `path[:end]`; 0 or less where nothing is."""
    dates = _DATE_FOLDERS.search(path, max(0, end - _LONGEST_DATE), end)
    if dates:
        return dates.start()
    slash = path.rfind("/", 0, end)
    segment = path[slash + 1 : end]
    folded = (
        _PART.fullmatch(segment) or _KEY_VALUE.fullmatch(segment) or "*" in segment or _WHOLE_DATE.fullmatch(segment)
    )
    return slash if folded else 0


def _without_dates(path: str) -> str:
    """Leave out the folders of a whole date between others: they hold the table's rows of that day."""
    if not _MAY_HAVE_DATE.search(path):
        return path
    return _DATE_BETWEEN.sub("", path)


def lower(name: Name) -> Name:
    """Lower-case a name, quotes or not, as Hive, Glue and Trino do to identifiers and SQL Server compares them."""
    return Name(name.namespace, _PLAIN_LOWER.sub(_without_quotes, name.name.lower()))


def upper_unquoted(name: Name) -> Name:
    """Upper-case the parts of a name outside double quotes, as Oracle and Snowflake read identifiers.

    Quotes around a part that is in upper case anyway change nothing, so they go.
    """
    pieces = name.name.split('"')
    pieces[::2] = [piece.upper() if piece.isascii() else piece for piece in pieces[::2]]
    return Name(name.namespace, _PLAIN_UPPER.sub(_without_quotes, '"'.join(pieces)))


def _without_quotes(quoted: re.Match[str]) -> str:
    return quoted[0][1:-1]


OPERATIONS: dict[str, Callable[[Name], Name]] = {
    "uri_form": uri_form,
    "table_options": table_options,
    "oracle_address": oracle_address,
    "trim_slashes": trim_slashes,
    "trim_end": trim_end,
    "fold_tail": fold_tail,
    "lower": lower,
    "upper_unquoted": upper_unquoted,
}
