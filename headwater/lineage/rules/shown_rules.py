"""Rules for pages and lists: which datasets are system tables and left out, and which addresses become links."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import urlsplit

from headwater.lineage.rules.rule_text import RuleEntry, read_entries
from headwater.lineage.rules.selectors import is_match

_MAX_ADDRESS_LENGTH = 2_000
_SYSTEM_KEYS, _LINK_KEYS = ("namespace", "dataset", "system"), ("host", "link")


class SystemRule(NamedTuple):
    """A rule of `system.yaml`: whether the datasets with matching names are system tables of a database.

    namespace, dataset: globs in lower case for canonical names. A namespace of None matches every namespace.
    """

    namespace: str | None
    dataset: str
    is_system: bool


class LinkRule(NamedTuple):
    """A rule of `links.yaml`: whether https addresses of a host become links. `host` is a glob in lower case."""

    host: str
    is_link: bool


class _ShippedRules(NamedTuple):
    system: tuple[SystemRule, ...]
    links: tuple[LinkRule, ...]


def read_system(text: str, file: str) -> tuple[SystemRule, ...]:
    """Read `system.yaml`."""
    return tuple(map(_system_rule, read_entries(text, file, {"system": _SYSTEM_KEYS})["system"]))


def read_links(text: str, file: str) -> tuple[LinkRule, ...]:
    """Read `links.yaml`."""
    return tuple(map(_link_rule, read_entries(text, file, {"links": _LINK_KEYS})["links"]))


def is_system(rules: Iterable[SystemRule], namespace: str, name: str) -> bool:
    """Tell whether a dataset is a system table.

    The first matching rule decides. `rules`, the rules of the user, come before the shipped rules.
    """
    space, text = namespace.casefold(), name.casefold()
    every = (*rules, *_shipped_rules().system)
    return next(
        (rule.is_system for rule in every if is_match(rule.namespace, space) and is_match(rule.dataset, text)), False
    )


def allowed_link(rules: Iterable[LinkRule], address: str) -> str | None:
    """Return an address if pages may show it as a link; return None if pages must show it as text.

    The address must use https, and a rule must allow its host. It must not contain a user name, invisible characters,
    or a backslash, which browsers treat as a slash.
    """
    if (
        len(address) > _MAX_ADDRESS_LENGTH
        or not address.isascii()
        or not address.isprintable()
        or set(address) & set(' \\"<>')
    ):
        return None
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme != "https" or not host or "@" in parts.netloc:
        return None
    every = (*rules, *_shipped_rules().links)
    return address if next((rule.is_link for rule in every if is_match(rule.host, host)), False) else None


@cache
def _shipped_rules() -> _ShippedRules:
    text = files("headwater.lineage.rules").joinpath("shown_rules.yaml").read_text("utf-8")
    found = read_entries(text, "shipped shown_rules.yaml", {"system": _SYSTEM_KEYS, "links": _LINK_KEYS})
    return _ShippedRules(tuple(map(_system_rule, found["system"])), tuple(map(_link_rule, found["links"])))


def _system_rule(entry: RuleEntry) -> SystemRule:
    namespace = entry.optional_text("namespace")
    is_system = entry.flag("system")
    return SystemRule(
        namespace and namespace.casefold(), entry.required_text("dataset").casefold(), is_system is not False
    )


def _link_rule(entry: RuleEntry) -> LinkRule:
    return LinkRule(entry.required_text("host").casefold(), entry.flag("link") is not False)
