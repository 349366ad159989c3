"""The routes of the reading API, each defined once: what it takes and answers. `app` serves them, `openapi` says so."""

from typing import NamedTuple

from headwater.access import Role
from headwater.api import parameters as p
from headwater.api.answers import columns, lineage, lists, operations, parts, pictures
from headwater.api.parameters import Parameter

BASE = "/api/headwater/v1"


class Route(NamedTuple):
    """A route below BASE; reads_lake: one at a time, because it reads Delta tables."""

    path: str
    summary: str
    parameters: tuple[Parameter, ...]
    answer: type[parts.Shape] | None
    reads_lake: bool = False
    method: str = "GET"
    role: Role = "read"

    @property
    def name(self) -> str:
        """What the route is called."""
        return self.path.replace("/{run}", "").replace("/", "-")

    @property
    def taken(self) -> tuple[str, ...]:
        """The names of the parameters of its query."""
        return tuple(each.name for each in self.parameters if each.place == "query")


_SUBJECT = (p.NAMESPACE, p.DATASET, p.COLUMN)
_ANY_SUBJECT = (p.NAMESPACE, p.ANY_DATASET, p.COLUMN)
_WALK = (*_SUBJECT, p.MODE, p.DEPTH, p.LIMIT, p.ROOTS, p.PATHS, *p.LENS)

ROUTES = (
    Route("impact", "The columns that a column, or a whole dataset, ends up in", _WALK, lineage.Reach),
    Route("upstream", "The columns that a column, or a whole dataset, is made of", _WALK, lineage.Reach),
    Route("path", "Whether one column reaches another, and how", (*p.ENDS, p.MODE, *p.LENS), lineage.PathAnswer),
    Route("edge", "Why an edge is there", (*p.ENDS, *p.LENS), lineage.EdgeAnswer, reads_lake=True),
    Route("surface", "Where tagged columns, or one column, end up: exposed, masked or unknown",
          (*_ANY_SUBJECT, p.TAG, p.SINCE, p.EXPOSURE, p.LIMIT, *p.LENS), columns.Surface),
    Route("unused", "Which columns may be dropped",
          (p.NAMESPACE, p.ANY_DATASET, p.STRICT, p.LIMIT, *p.LENS), columns.Unused),
    Route("diff", "What changed between two moments", (p.FROM, p.TO, p.LIMIT), lineage.Diff),
    Route("coverage", "What lineage does not cover, and why", (p.LIMIT, *p.LENS), lineage.Coverage),
    Route("runs/{run}/lineage", "Which run read what which run wrote", (p.RUN_PATH,), lineage.RunLineage),
    Route("facets", "The newest value of a facet for each run, job or dataset", (p.ENTITY, p.FACET, p.LISTED),
          lists.Facets, reads_lake=True),
    Route("names", "Which dataset a name means", (p.SENT_NAMESPACE, p.SENT_NAME, p.AT), columns.Names),
    Route("rules", "Which of your rules are in force", (), columns.Rules),
    Route("search", "What is called like this: jobs, datasets, aliases, columns, tags",
          (p.TEXT, p.SEARCH_KINDS, p.FOUND), columns.SearchAnswer),
    Route("graph", "The table graph, folded into groups", (p.GROUPS, p.EXPAND, p.NODES, *p.LENS), pictures.GraphAnswer),
    Route("lineage", "The tables and columns around a dataset or a column, to be drawn",
          (*_SUBJECT, p.MODE, p.UP, p.DOWN, p.AROUND, *p.LENS), pictures.Surroundings),
    Route("timeline", "When the lineage of a dataset changed", (p.NAMESPACE, p.DATASET, p.SINCE, p.LIMIT),
          lineage.Timeline),
    Route("overview", "What came in, what lags, how runs fare", (p.WINDOW_FROM, p.TO, p.BUCKETS), operations.Overview,
          reads_lake=True),
    Route("audit", "Whether every acknowledged event is in exactly one table", (), operations.Audit, reads_lake=True),
    Route("freshness", "Age of the oldest acknowledged event that questions cannot see yet", (), operations.Freshness,
          reads_lake=True),
    Route("events", "Stored events", (p.RUN_ID, p.JOB, p.SINCE, p.LISTED), lists.Events, reads_lake=True),
    Route("rejected", "What was acknowledged but could not be stored", (p.SINCE, p.LISTED), lists.RejectedEvents,
          reads_lake=True),
    Route("rejected/retry", "Send rejected events again", (p.SINCE, p.LISTED), operations.SentAgain, reads_lake=True,
          method="POST", role="admin"),
    Route("refused", "Requests and items that were not taken, counted by reason", (p.SINCE, p.LISTED),
          lists.RefusedRequests, reads_lake=True),
    Route("live", "What happens now, as server-sent events: runs, edges, rejections", (p.RESUME,), None),
    Route("settings", "The effective settings, without secrets", (), operations.SettingsAnswer),
)  # fmt: skip
