"""What patterns cannot say about names: hosts, ports, databases in URLs, slashes, tails of paths."""

import re
from collections.abc import Callable

from headwater.lineage.names.dataset_name import Name

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+://)([^/;?]++)(.*)", re.DOTALL)
_PART = re.compile(r"part-(?:[a-z]-)?[0-9]{5,}+(?:[-_.].*)?", re.DOTALL)
_KEY_VALUE = re.compile(r"[^=]++=.++", re.DOTALL)
_DATABASE = ("database", "databasename", "db")
_SCHEMA = {"schema", "currentschema", "searchpath"}
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
    return Name(f"{scheme.lower()}{user}{at}{host}{rest.rstrip('/')}", name.name)


def without_port(name: Name, port: int) -> Name:
    """Drop the port of the namespace if it is the system's default."""
    found = _URI.fullmatch(name.namespace)
    if found is None or not found[2].endswith(f":{port}") or len(found[2]) == len(f":{port}"):
        return name
    return Name(f"{found[1]}{found[2].removesuffix(f':{port}')}{found[3]}", name.name)


def with_database(name: Name, levels: int) -> Name:
    """Leave scheme, host and port in the namespace; a database found there becomes the name's first part.

    levels: of how many parts, joined by dots, a full name consists; a full name needs no database. What could tell two
    tables apart stays: an instance, a schema beside a name that is not full.
    """
    found = _URI.fullmatch(name.namespace)
    if found is None:
        return name
    scheme, authority, rest = found.groups()
    cut = min((at for at in (rest.find(";"), rest.find("?")) if at >= 0), default=len(rest))
    path, options = rest[:cut].strip("/"), _options(rest[cut:])
    database = path or next((options[key] for key in _DATABASE if options.get(key)), "")
    is_full = count_parts(name.name) >= levels
    if "/" in path or "instancename" in options or (not is_full and _SCHEMA & options.keys()):
        return name
    full = name.name if is_full or not database else f"{database}.{name.name}"
    return Name(scheme + (authority.rpartition("@")[2] or authority), full)


def count_parts(name: str) -> int:
    """Return of how many parts joined by dots a table's name consists; a dot inside `[ ]` or quotes joins nothing."""
    return _IDENTIFIER.sub("", name).count(".") + 1


def _options(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in re.split("[;?&]", text))
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def trim_slashes(name: Name) -> Name:
    """Drop the slashes around an object's name; the root of a store is `/`."""
    return Name(name.namespace, name.name.strip("/") or "/") if name.name else name


def trim_end(name: Name) -> Name:
    """Drop the slashes behind a path; the root is `/`."""
    return Name(name.namespace, name.name.rstrip("/") or "/") if name.name else name


def fold_tail(name: Name) -> Name:
    """Fold part files and `key=value` folders at the end of a path into the folder of the table."""
    path = name.name
    end = len(path)
    while (slash := path.rfind("/", 0, end)) > 0 and _is_tail(path[slash + 1 : end]):
        folder = slash
        while folder > 0 and path[folder - 1] == "/":
            folder -= 1
        if folder == 0:
            break
        end = folder
    return Name(name.namespace, path[:end]) if end < len(path) else name


def _is_tail(segment: str) -> bool:
    return bool(_PART.fullmatch(segment) or _KEY_VALUE.fullmatch(segment))


def lower(name: Name) -> Name:
    """Lower-case a name, quotes or not, as Hive, Glue and Trino do to identifiers and SQL Server compares them."""
    return Name(name.namespace, name.name.lower())


def upper_unquoted(name: Name) -> Name:
    """Upper-case the parts of a name outside double quotes, as Oracle and Snowflake read identifiers."""
    pieces = name.name.split('"')
    pieces[::2] = [piece.upper() if piece.isascii() else piece for piece in pieces[::2]]
    return Name(name.namespace, '"'.join(pieces))


OPERATIONS: dict[str, Callable[[Name], Name]] = {
    "uri_form": uri_form,
    "trim_slashes": trim_slashes,
    "trim_end": trim_end,
    "fold_tail": fold_tail,
    "lower": lower,
    "upper_unquoted": upper_unquoted,
}
