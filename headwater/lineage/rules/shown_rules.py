"""Rules for pages and lists: the system tables that they leave out, and the addresses that become links."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import urlsplit

from headwater.lineage.rules.rule_text import Entry, read_entries
from headwater.lineage.rules.selectors import fits

_LONGEST = 2_000
_SYSTEM, _LINKS = ("namespace", "dataset", "system"), ("host", "link")


class SystemRule(NamedTuple):
    """Whether a dataset is a system table of a database; globs in lower case for canonical names."""

    namespace: str | None
    dataset: str
    system: bool


class LinkRule(NamedTuple):
    """Whether https addresses of a host become links; `host` is a glob in lower case."""

    host: str
    link: bool


class _Shipped(NamedTuple):
    system: tuple[SystemRule, ...]
    links: tuple[LinkRule, ...]


def read_system(text: str, file: str) -> tuple[SystemRule, ...]:
    """Read `system.yaml`."""
    return tuple(map(_system, read_entries(text, file, {"system": _SYSTEM})["system"]))


def read_links(text: str, file: str) -> tuple[LinkRule, ...]:
    """Read `links.yaml`."""
    return tuple(map(_link, read_entries(text, file, {"links": _LINKS})["links"]))


def is_system(rules: Iterable[SystemRule], namespace: str, name: str) -> bool:
    """Tell whether a dataset is a system table. The first rule that fits decides, users' rules before shipped ones."""
    space, text = namespace.casefold(), name.casefold()
    every = (*rules, *_shipped().system)
    return next((rule.system for rule in every if fits(rule.namespace, space) and fits(rule.dataset, text)), False)


def link_to(rules: Iterable[LinkRule], address: str) -> str | None:
    """Return an address if it may become a link; None if pages must show it as text.

    A link needs https and a host that a rule allows. It must not contain a user, invisible characters, or a backslash,
    which browsers treat as a slash.
    """
    if len(address) > _LONGEST or not address.isascii() or not address.isprintable() or set(address) & set(' \\"<>'):
        return None
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme != "https" or not host or "@" in parts.netloc:
        return None
    every = (*rules, *_shipped().links)
    return address if next((rule.link for rule in every if fits(rule.host, host)), False) else None


@cache
def _shipped() -> _Shipped:
    text = files("headwater.lineage.rules").joinpath("shown_rules.yaml").read_text("utf-8")
    found = read_entries(text, "shipped shown_rules.yaml", {"system": _SYSTEM, "links": _LINKS})
    return _Shipped(tuple(map(_system, found["system"])), tuple(map(_link, found["links"])))


def _system(entry: Entry) -> SystemRule:
    namespace = entry.optional("namespace")
    said = entry.flag("system")
    return SystemRule(namespace and namespace.casefold(), entry.text("dataset").casefold(), said is not False)


def _link(entry: Entry) -> LinkRule:
    return LinkRule(entry.text("host").casefold(), entry.flag("link") is not False)
