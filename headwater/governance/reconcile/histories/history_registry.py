"""The kinds of job histories: find the module that reads `KIND:PLACE`."""

import os
from collections.abc import Callable, Iterator
from importlib import import_module

from headwater.common.errors import WrongSetting
from headwater.governance.reconcile.histories.entry import HistoryEntry, HistoryPlace, HistorySpan, ReadHistory

KINDS = {
    "eventlogs": "headwater.governance.reconcile.histories.event_logs",
    "historyserver": "headwater.governance.reconcile.histories.history_server",
    "fabric": "headwater.governance.reconcile.histories.fabric",
    "databricks": "headwater.governance.reconcile.histories.databricks",
    "airflow": "headwater.governance.reconcile.histories.airflow",
    "csv": "headwater.governance.reconcile.histories.csv_file",
}
"""Maps each kind of history to a module with a function `read_history`."""

TOKENS = {
    "historyserver": "HISTORY_SERVER_TOKEN",
    "fabric": "FABRIC_TOKEN",
    "databricks": "DATABRICKS_TOKEN",
    "airflow": "AIRFLOW_TOKEN",
}
"""Maps a kind of history to the environment variable with a token or `user:password` for its API."""


def read_history(
    written: str, span: HistorySpan, tokens: Callable[[str], str | None] = os.environ.get
) -> Iterator[HistoryEntry]:
    """Return the executions of a period from the history `KIND:PLACE`; raises WrongSetting for an unknown kind.

    tokens: returns the value of an environment variable.
    """
    kind, mark, place = written.partition(":")
    if not mark or not place or kind not in KINDS:
        raise WrongSetting(
            f"{written!r} is not a known history. Write KIND:PLACE, where KIND is one of {', '.join(KINDS)}."
        )
    read: ReadHistory = import_module(KINDS[kind]).read_history
    found = read(HistoryPlace(place, lambda: tokens(TOKENS[kind]) if kind in TOKENS else None), span)
    return (each for each in found if each.overlaps(span))
