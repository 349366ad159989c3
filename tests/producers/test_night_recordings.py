"""Airflow with its scheduler and dbt still send the kinds of events in `tests/fixtures/night/`."""

import gzip
import json
from pathlib import Path

import pytest

from tests.producers.record_night import FIXTURES, record_airflow, record_dbt
from tools.producer_envs import AIRFLOW, environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Shape = dict[tuple[str, str], tuple[list[str], list[str]]]


@pytest.mark.long
def test_airflow_sends_what_was_recorded(tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "target"
    home.mkdir()
    target.mkdir()
    record_airflow(home, environment(AIRFLOW), target)
    (recorded,) = target.iterdir()
    assert _shape(recorded) == _shape(FIXTURES / recorded.name)


@pytest.mark.long
def test_dbt_sends_what_was_recorded(tmp_path: Path) -> None:
    folder, target = tmp_path / "builds", tmp_path / "target"
    folder.mkdir()
    target.mkdir()
    record_dbt(folder, target)
    names = sorted(each.name for each in target.iterdir())
    assert names == sorted(each.name for each in FIXTURES.glob("dbt-*"))
    for name in names:
        assert _shape(target / name) == _shape(FIXTURES / name), name


def _shape(path: Path) -> Shape:
    """Return the event types by job and nominal time, and all names of facets of their runs and jobs."""
    found: Shape = {}
    for line in gzip.decompress(path.read_bytes()).splitlines():
        event = json.loads(line)
        facets, job = event["run"]["facets"], event["job"]
        nominal = facets.get("nominalTime", {}).get("nominalStartTime", "")
        types, names = found.setdefault((nominal, job["name"]), ([], []))
        types.append(event["eventType"])
        names += [name for name in (*facets, *job["facets"]) if name not in names]
    return {key: (sorted(types), sorted(names)) for key, (types, names) in found.items()}
