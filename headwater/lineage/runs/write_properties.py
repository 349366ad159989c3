"""Read from the facets of a run how it writes, its nominal time, and the job that it deletes."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import DecodeError, Struct, json

from headwater.events.decode import decode
from headwater.events.finding_facet import COMMITS
from headwater.events.times import parse_time
from headwater.lineage.edges.write_kinds import MATERIALIZED, PART
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.retired_jobs import retiring_sign

_MODE = "spark.sql.sources.partitionOverwriteMode"
_WORDS = (_MODE, "materialized")
_NOMINAL = "nominalTime"

CHANGE_FACET = "headwater_change"
"""The run facet for changes through the API. It counts only for jobs of `CHANGE_NAMESPACE`."""
CHANGE_NAMESPACE = "headwater"

READ_OF_RUNS = ("partitionOverwriteMode", "materialized", _NOMINAL, CHANGE_FACET, COMMITS)
"""Each run facet that this module reads contains at least one of these words."""

_ANEW = ("table", "view")


class _NominalTime(Struct, frozen=True, gc=False):
    nominalStartTime: Any = None  # noqa: N815 - the name on the wire
    nominalEndTime: Any = None  # noqa: N815


class _Dated(Struct, frozen=True, gc=False):
    nominalTime: _NominalTime | None = None  # noqa: N815


_dated = json.Decoder(_Dated)


def nominal_time(run_facets: str | None) -> int | None:
    """Return the end, else the start, of the `nominalTime` of a run (us); run_facets: the text of its facets."""
    if not run_facets or _NOMINAL not in run_facets:
        return None
    try:
        found = _dated.decode(run_facets).nominalTime or _NominalTime()
    except (DecodeError, UnicodeEncodeError, RecursionError):
        return None
    times = (parse_time(each)[0] for each in (found.nominalEndTime, found.nominalStartTime) if isinstance(each, str))
    return next((time_us for time_us in times if time_us is not None), None)


def properties_signs(run_facets: str | None) -> tuple[str, ...]:
    """Return the write signs in the text of the facets of a run, sorted."""
    if not run_facets or not any(word in run_facets for word in _WORDS):
        return ()
    return _read(run_facets)


def deletion_signs(run_facets: str | None) -> tuple[str, ...]:
    """Return the write sign of a run that deletes a job or a namespace (rule 6.11), from the text of its facets."""
    if not run_facets or CHANGE_FACET not in run_facets:
        return ()
    facets = decode(run_facets.encode())
    change = _object(facets.get(CHANGE_FACET)) if isinstance(facets, dict) else {}
    namespace, name = change.get("namespace"), change.get("name")
    if change.get("mark") != "deleted" or not (isinstance(namespace, str) and isinstance(name, str)):
        return ()
    kinds = {"JOB": Name(namespace, name), "NAMESPACE": Name(namespace, "")}
    retired = kinds.get(str(change.get("kind")))
    return () if retired is None else (retiring_sign(job_key(retired, None) if retired.name else retired),)


@lru_cache(maxsize=256)
def _read(run_facets: str) -> tuple[str, ...]:
    value = decode(run_facets.encode())
    return tuple(sorted(set(_signs(value)))) if isinstance(value, dict) else ()


def _signs(facets: dict[str, Any]) -> Iterator[str]:
    properties = _object(_object(facets.get("spark_properties")).get("properties"))
    if str(properties.get(_MODE)).lower() == "dynamic":
        yield PART
    of_dbt = [_object(facet) for name, facet in facets.items() if name.startswith("dbt")]
    full_refresh = any(_in(facet, "full_refresh") is True for facet in of_dbt)
    for facet in of_dbt:
        materialized = _in(facet, "materialized")
        if materialized in _ANEW or (materialized == "incremental" and full_refresh):
            yield MATERIALIZED


def _in(facet: dict[str, Any], key: str) -> Any:
    return facet.get(key, _object(facet.get("config")).get(key))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
