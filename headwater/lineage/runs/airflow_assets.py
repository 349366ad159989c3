"""Rule 4.14: read the inlets and outlets of an Airflow task, which its run facet `airflow` contains as text."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import DecodeError, Struct, json

from headwater.events.python_text import read_list
from headwater.lineage.names.dataset_name import Name, split_location
from headwater.lineage.runs.run_facts import DatasetUse, RunFacts

ASSET_WORDS = ("inlets", "outlets")
"""The JSON text of a run facet with assets contains at least one of these words."""

_END_OF_KEY = 'lets"'
_NOT_EMPTY = re.compile(r'lets"\s*:\s*"?\s*[\[({]\s*[^\]\s)}]')
_TABLE_PATHS = ("postgres", "postgresql", "mysql", "mariadb", "redshift", "trino", "mssql", "snowflake", "bigquery")
"""Schemes of databases. The path of such an address names a table, with slashes where names have dots."""


class TaskAssets(NamedTuple):
    """The datasets that a task names as its inlets and outlets, by the names in their addresses."""

    inlets: tuple[Name, ...] = ()
    outlets: tuple[Name, ...] = ()


NO_ASSETS = TaskAssets()

UseInEvent = tuple[RunFacts, DatasetUse]
"""(event, dataset that it lists or that the task names)"""


class _Task(Struct, frozen=True, gc=False):
    inlets: Any = None
    outlets: Any = None


class _Airflow(Struct, frozen=True, gc=False):
    task: _Task | None = None


class _Facets(Struct, frozen=True, gc=False):
    airflow: _Airflow | None = None


_facets = json.Decoder(_Facets)


def read_assets(run_facets: str | None) -> TaskAssets:
    """Return the inlets and outlets in the facets of a run. run_facets: the facets as JSON text; None without facets.

    An asset is a text or an object with `uri`, or an object with `namespace` and `name`. Other members are left out.
    """
    if not run_facets or not _may_have_members(run_facets):
        return NO_ASSETS
    try:
        airflow = _facets.decode(run_facets).airflow
    except (DecodeError, UnicodeEncodeError, RecursionError):
        return NO_ASSETS
    task = (airflow and airflow.task) or _Task()
    return TaskAssets(*map(_read_names, (task.inlets, task.outlets)))


def without_replaced_assets(uses: Sequence[UseInEvent]) -> Sequence[UseInEvent]:
    """Return the inputs of a run without its inlets if an event lists an input; likewise for outputs and outlets.

    uses: all inputs, or all outputs, in the events of the run that count.
    """
    assets = sum(use.is_asset for _, use in uses)
    return [each for each in uses if not each[1].is_asset] if 0 < assets < len(uses) else uses


def _may_have_members(run_facets: str) -> bool:
    """Tell whether inlets or outlets may have members. Most tasks have empty lists, which need no decoding."""
    at = run_facets.find(_END_OF_KEY)  # faster than a search for the whole expression
    while at >= 0:
        if _NOT_EMPTY.match(run_facets, at):
            return True
        at = run_facets.find(_END_OF_KEY, at + 1)
    return False


def _read_names(assets: Any) -> tuple[Name, ...]:
    return _names_in_text(assets) if isinstance(assets, str) else _unique_names(assets)


@lru_cache(maxsize=4_096)
def _names_in_text(text: str) -> tuple[Name, ...]:
    return _unique_names(text)


def _unique_names(assets: Any) -> tuple[Name, ...]:
    return tuple(dict.fromkeys(name for each in read_list(assets) or () if (name := _name_of_asset(each))))


def _name_of_asset(asset: Any) -> Name | None:
    if isinstance(asset, dict):
        namespace, name = asset.get("namespace"), asset.get("name")
        if isinstance(namespace, str) and isinstance(name, str) and name:
            return Name(namespace, name)
        asset = asset.get("uri")
    return _name_of_address(asset) if isinstance(asset, str) else None


def _name_of_address(address: str) -> Name | None:
    """Return the name that OpenLineage gives to the dataset at an address; None for a text without an address."""
    found = split_location(re.split(r"[?#]", address, maxsplit=1)[0])
    if found is None or found.name == "/":
        return None
    scheme, _, authority = found.namespace.partition("://")
    if scheme.lower() not in _TABLE_PATHS:
        return found
    table = ".".join(part for part in found.name.split("/") if part)
    if scheme.lower() == "bigquery":
        return Name("bigquery", f"{authority}.{table}")
    return Name(f"postgres://{authority}" if scheme.lower() == "postgresql" else found.namespace, table)
