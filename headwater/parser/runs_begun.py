"""Where runs began, as bronze knows it."""

from collections.abc import Collection, Mapping

from headwater.lake.bronze_tables import Bronze

MAX_RUNS = 100_000
LOOK_BACK_US = 31 * 24 * 3600 * 1_000_000
"""How far back runs are looked for whose ids tell no time: 1 M events cost 0.2 s of CPU, ids with a time 5 ms."""


class RunsBegun:
    """Looks up in bronze where runs began; asks nothing as long as no scoped key sends."""

    def __init__(self, bronze: Bronze) -> None:
        """Remember nothing yet."""
        self._bronze = bronze
        self._known: dict[str, str] = {}

    def __call__(self, runs: Collection[str], now_us: int) -> Mapping[str, str]:
        """See `run_scopes.BegunIn`."""
        unknown = [run for run in runs if run not in self._known]
        timed = [run for run in unknown if run[14] == "7"]
        others = [run for run in unknown if run[14] != "7"]
        found: dict[str, str] = self._bronze.begun_in(timed) if timed else {}
        found |= self._bronze.begun_in(others, now_us - LOOK_BACK_US) if others else {}
        self.remember(found)
        return {run: self._known[run] for run in runs if run in self._known} | found

    def remember(self, begun: Mapping[str, str]) -> None:
        """Take what is in the lake for good: what began a run does not change."""
        if len(self._known) + len(begun) > MAX_RUNS:
            self._known.clear()
        self._known |= begun
