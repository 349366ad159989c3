"""Read the facets of a run: how the run writes, its nominal time, and the job or namespace that it deletes."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import DecodeError, Struct, json

from headwater.events.decode import decode
from headwater.events.finding_facet import COMMITS
from headwater.events.times import parse_time
from headwater.lineage.edges.write_kinds import SIGN_MATERIALIZED, SIGN_PART
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.airflow_assets import ASSET_WORDS
from headwater.lineage.runs.jobs import job_key, retirement_sign

_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
_SIGN_WORDS = (_OVERWRITE_MODE, "materialized")
_NOMINAL = "nominalTime"

CHANGE_FACET = "headwater_change"
"""The run facet for changes through the API. It counts only in runs of jobs in the namespace `CHANGE_NAMESPACE`."""
CHANGE_NAMESPACE = "headwater"

RUN_FACET_WORDS = ("partitionOverwriteMode", "materialized", _NOMINAL, CHANGE_FACET, COMMITS, *ASSET_WORDS)
"""The JSON text of each run facet that the rules read contains at least one of these words."""

_REBUILT = ("table", "view")


class _NominalTime(Struct, frozen=True, gc=False):
    nominalStartTime: Any = None  # noqa: N815 - the name on the wire
    nominalEndTime: Any = None  # noqa: N815


class _NominalTimeFacet(Struct, frozen=True, gc=False):
    nominalTime: _NominalTime | None = None  # noqa: N815


_nominal_time_facet = json.Decoder(_NominalTimeFacet)


def nominal_time_us(run_facets: str | None) -> int | None:
    """Return the end of the `nominalTime` of a run in microseconds, else its start; None without a valid time.

    run_facets: the facets of the run as JSON text; None without facets.
    """
    if not run_facets or _NOMINAL not in run_facets:
        return None
    try:
        found = _nominal_time_facet.decode(run_facets).nominalTime or _NominalTime()
    except (DecodeError, UnicodeEncodeError, RecursionError):
        return None
    times = (parse_time(each)[0] for each in (found.nominalEndTime, found.nominalStartTime) if isinstance(each, str))
    return next((time_us for time_us in times if time_us is not None), None)


def read_write_signs(run_facets: str | None) -> tuple[str, ...]:
    """Return the sorted write signs in the facets of a run. run_facets: the facets as JSON text, or None."""
    if not run_facets or not any(word in run_facets for word in _SIGN_WORDS):
        return ()
    return _read_cached_signs(run_facets)


def read_deletion_signs(run_facets: str | None) -> tuple[str, ...]:
    """Return the write sign of a run that deletes a job or a namespace (rule 6.11); empty for any other run.

    run_facets: the facets of the run as JSON text; None without facets.
    """
    if not run_facets or CHANGE_FACET not in run_facets:
        return ()
    facets = decode(run_facets.encode())
    change = _as_mapping(facets.get(CHANGE_FACET)) if isinstance(facets, dict) else {}
    namespace, name = change.get("namespace"), change.get("name")
    if change.get("mark") != "deleted" or not (isinstance(namespace, str) and isinstance(name, str)):
        return ()
    kinds = {"JOB": Name(namespace, name), "NAMESPACE": Name(namespace, "")}
    retired = kinds.get(str(change.get("kind")))
    return () if retired is None else (retirement_sign(job_key(retired, None) if retired.name else retired),)


@lru_cache(maxsize=256)
def _read_cached_signs(run_facets: str) -> tuple[str, ...]:
    value = decode(run_facets.encode())
    return tuple(sorted(set(_write_signs(value)))) if isinstance(value, dict) else ()


def _write_signs(facets: dict[str, Any]) -> Iterator[str]:
    properties = _as_mapping(_as_mapping(facets.get("spark_properties")).get("properties"))
    if str(properties.get(_OVERWRITE_MODE)).lower() == "dynamic":
        yield SIGN_PART
    of_dbt = [_as_mapping(facet) for name, facet in facets.items() if name.startswith("dbt")]
    full_refresh = any(_config_value(facet, "full_refresh") is True for facet in of_dbt)
    for facet in of_dbt:
        materialized = _config_value(facet, "materialized")
        if materialized in _REBUILT or (materialized == "incremental" and full_refresh):
            yield SIGN_MATERIALIZED


def _config_value(facet: dict[str, Any], key: str) -> Any:
    return facet.get(key, _as_mapping(facet.get("config")).get(key))


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
