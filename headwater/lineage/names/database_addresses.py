"""Parse the database addresses of drivers: options, lists of hosts, and the formats of Oracle and SQL Server."""

import re
from functools import lru_cache

from headwater.lineage.names.dataset_name import Name

CACHED_NAMESPACES = 2048
"""The maximum number of namespaces in each cache. Each namespace has at most 4,096 characters."""

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+://)([^/;?]++)(.*)", re.DOTALL)

CATALOG = ("catalog", "conncatalog")
DATABASE = ("database", "databasename", "db")
SCHEMA = ("schema", "currentschema", "searchpath", "connschema")
_SERVER = ("servername", "server")
_PORT = ("portnumber", "port")
_IDENTIFYING_OPTIONS = {
    *(*CATALOG, *DATABASE, *SCHEMA, *_SERVER, *_PORT),
    *("instancename", "instance", "cloudsqlinstance", "projectid"),
}

_ADDRESS = re.compile(r"([^;?]++)(.*)", re.DOTALL)
_HOST_LIST = re.compile(
    r"(mysql://|mysql\+srv://|mariadb://|cassandra://)([^/;?]*?(?:[(\[]|--)[^/;?]*+)(.*)", re.DOTALL
)
_ENDPOINT = re.compile(r"\([a-z]++://([^()/]*+)\)")
_ENDPOINTS = re.compile(r"((?:clickhouse|ch)://)((?:\([a-z]++://[^()/]*+\),?)++)(.*)", re.DOTALL)
_IN_PARENTHESES = re.compile(r"(?:address\s*+=\s*+)?\(([^()]*+)\)", re.IGNORECASE)


@lru_cache(CACHED_NAMESPACES)
def uri_parts(namespace: str) -> tuple[str, str, str] | None:
    """Split a namespace into (scheme with `://`, authority, rest); return None if the namespace is not a URI."""
    found = _URI.fullmatch(namespace)
    return None if found is None else (found[1], found[2], found[3])


def table_options(name: Name) -> Name:
    """Keep the options of a JDBC URL that identify the table, and remove options that only affect the connection."""
    found = _ADDRESS.fullmatch(name.namespace)
    if found is None:
        return name
    pairs = (
        pair for pair in re.split("[;?&]", found[2]) if pair.partition("=")[0].strip().lower() in _IDENTIFYING_OPTIONS
    )
    return Name(";".join([found[1], *pairs]), name.name)


def sql_server_address(name: Name) -> Name:
    """Write the address of a SQL Server driver as `scheme://host:port;options`, without braces around option values.

    The server and the port may be options; they move in front of the other options. An address without a server stays
    the same.

    Source: Microsoft's JDBC driver, "Building the connection URL".
    """
    found = _ADDRESS.fullmatch(name.namespace)
    if found is None or not found[2]:
        return name
    scheme, _, server = found[1].partition("://")
    options = {key: value.removeprefix("{").removesuffix("}") for key, value in parse_options(found[2]).items() if key}
    server = server or next((options[key] for key in _SERVER if options.get(key)), "")
    port = next((options[key] for key in _PORT if options.get(key, "").isdecimal()), "")
    if port and ":" not in server:
        host, slash, path = server.partition("/")
        server = f"{host}:{port}{slash}{path}"
    rest = (f";{key}={value}" for key, value in options.items() if key not in (*_SERVER, *_PORT))
    return Name(f"{scheme}://{server}{''.join(rest)}", name.name) if server else name


def host_list(name: Name) -> Name:
    """Write the hosts of an address as `host:port,host:port`.

    Supported forms are `[a:1,b:2]`, `(host=a,port=1),(host=b,port=2)` and `address=(host=a)(port=1),address=(host=b)`
    of MySQL and MariaDB, `a--b:1` of Cassandra, and `(http://a:1),(grpc://b:2)` of ClickHouse.
    Sources: MySQL Connector/J, "Connection URL Syntax"; the JDBC wrapper of Cassandra's driver; ClickHouse's driver.
    """
    if found := _ENDPOINTS.fullmatch(name.namespace):
        hosts = ",".join(_ENDPOINT.findall(found[2]))
        return Name(f"{found[1]}{hosts}{found[3]}", name.name)
    found = _HOST_LIST.fullmatch(name.namespace)
    if found is None:
        return name
    scheme, hosts, rest = found.groups()
    if "(" in hosts:
        listed = _key_value_hosts(hosts)
    elif "[" in hosts:
        listed = hosts.partition("[")[2].partition("]")[0].split(",") if "," in hosts else []
    else:
        *others, last = hosts.split("--")
        _, colon, port = last.partition(":")
        listed = [*(f"{host}{colon}{port}" for host in others), last]
    return Name(f"{scheme}{','.join(listed)}{rest}", name.name) if listed else name


def _key_value_hosts(text: str) -> list[str]:
    """Return `host:port` for each host of a text such as `(host=a,port=1),address=(host=b)(port=2)`.

    Returns an empty list if the text has other characters outside of the parentheses.
    """
    pairs = [pair.partition("=") for group in _IN_PARENTHESES.findall(text) for pair in group.split(",")]
    if _IN_PARENTHESES.sub("", text).rpartition("@")[2].strip(", "):
        return []
    found: list[tuple[str, str]] = []
    for key, _, value in pairs:
        if key.strip().lower() == "host":
            found.append((value.strip(), ""))
        elif key.strip().lower() == "port" and found:
            found[-1] = (found[-1][0], f":{value.strip()}")
    return [host + port for host, port in found if host]


def first_host(name: Name) -> Name:
    """Keep only the first host of a list, because some addresses of an Oracle service contain only the first host."""
    found = uri_parts(name.namespace)
    if found is None or "," not in found[1]:
        return name
    scheme, authority, rest = found
    return Name(f"{scheme}{authority.partition(',')[0]}{rest}", name.name)


def first_index(marks: str, text: str) -> int:
    """Return the index of the first occurrence of any mark in a text, or the length of the text."""
    return min((at for mark in marks if (at := text.find(mark)) >= 0), default=len(text))


def parse_options(text: str) -> dict[str, str]:
    """Map the option names in the options of an address, in lower case, to their values.

    text: the part of the address with the options, separated by `;`, `?` or `&`.
    """
    pairs = (pair.partition("=") for pair in re.split("[;?&]", text.removeprefix(":")))
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


_ORACLE_HOST = re.compile(r"\(\s*HOST\s*=\s*([^()\s]++)\s*\)", re.IGNORECASE)
_ORACLE_PORT = re.compile(r"\(\s*PORT\s*=\s*([0-9]++)\s*\)", re.IGNORECASE)
_ORACLE_SERVICE = re.compile(r"\(\s*(?:SERVICE_NAME|SID)\s*=\s*([^()\s]++)\s*\)", re.IGNORECASE)
_ORACLE_PROTOCOL = re.compile(r"(?:[A-Za-z]++:)?//")


def oracle_address(name: Name) -> Name:
    """Write the address of an Oracle driver as `oracle://host:port/service`.

    Supported forms are `oracle:thin:@//host:port/service`, `@host:port:sid`, `@tcps://…`, `@ldap://host/service,cn=…`
    and TNS descriptors `@(DESCRIPTION=…)`. Only the first host of a descriptor is used.
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
