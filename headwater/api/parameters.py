"""The parameters of the reading API, each defined once: its form, and what it means."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from headwater.api.questions import MAX_LIMIT as MAX_LISTED
from headwater.index.search import MAX_LIMIT as MAX_FOUND
from headwater.index.search import MAX_TEXT
from headwater.index.search_file import KINDS
from headwater.questions.asking import MAX_DEPTH, MAX_LIMIT
from headwater.questions.surroundings import MAX_AROUND
from headwater.questions.table_graph import LEVELS, MAX_NODES


class Parameter(NamedTuple):
    """A parameter; schema: of OpenAPI 3.1."""

    name: str
    schema: Mapping[str, Any]
    meaning: str
    required: bool = False
    place: str = "query"


def _text(name: str, meaning: str, *, required: bool = False, **schema: Any) -> Parameter:
    return Parameter(name, {"type": "string", **schema}, meaning, required)


def _number(name: str, meaning: str, most: int, default: int) -> Parameter:
    return Parameter(name, {"type": "integer", "minimum": 1, "maximum": most, "default": default}, meaning)


def _choice(name: str, meaning: str, *words: str) -> Parameter:
    return Parameter(name, {"type": "string", "enum": list(words), "default": words[0]}, meaning)


def _time(name: str, meaning: str, *, required: bool = False) -> Parameter:
    example = {"format": "date-time", "examples": ["2026-03-01T12:00:00Z"]}
    return _text(name, f"{meaning} ISO 8601, UTC without a zone; + is %2B.", required=required, **example)


NAMESPACE = _text("namespace", "Namespace of the dataset; may be left out where the name is enough.")
DATASET = _text("dataset", "A dataset by its name, any alias, or a unique end of its name.", required=True, minLength=1)
ANY_DATASET = DATASET._replace(required=False)
COLUMN = _text("column", "A column in any case; without it the whole dataset.")
ENDS = tuple(
    _text(f"{side}{part}", f"{part} of the end the way leads {side}.", required=part == "Dataset")
    for side in ("from", "to")
    for part in ("Namespace", "Dataset", "Column")
)
MODE = _choice(
    "mode", "value: what values are made of; any: also what filters, joins, groups or sorts.", "value", "any"
)
DEPTH = _number("depth", "At most so many edges away.", MAX_DEPTH, MAX_DEPTH)
LIMIT = _number("limit", "At most so many items.", MAX_LIMIT, 1000)
UP, DOWN = (
    Parameter(
        name, {"type": "integer", "minimum": 0, "maximum": MAX_DEPTH, "default": 1},
        f"At most so many edges towards what {side}.",
    )
    for name, side in (("up", "feeds it"), ("down", "it feeds"))
)  # fmt: skip
AROUND = _number("limit", "At most so many columns, or without a column so many tables.", MAX_AROUND, 500)
LISTED = _number("limit", "At most so many, newest first.", MAX_LISTED, 100)
FOUND = _number("limit", "At most so many, best first.", MAX_FOUND, 20)
NODES = _number("limit", "At most so many nodes, the largest groups first.", MAX_NODES, 200)
ROOTS = _choice("roots", "true: only the far ends.", "false", "true")
PATHS = _choice("paths", "true: with each column the way to it.", "false", "true")
VIEW = _choice("view", "current, or all that ever was.", "current", "all")
AS_OF = _time("asOf", "Lineage by events with an event time up to this.")
KNOWN_AT = _time("knownAt", "Lineage by events received up to this.")
SEEN_SINCE = _time("seenSince", "Only edges that a run reported since.")
LENS = (VIEW, AS_OF, KNOWN_AT, SEEN_SINCE)
STRICT = _choice(
    "strict", "true: a batch job that read it and wrote nothing may have used any column.", "false", "true"
)
EXPOSURE = Parameter(
    "exposure", {"type": "string", "enum": ["exposed", "unknown", "masked", "once_exposed"]},
    "Only these; once_exposed: masked now, and written in the clear before.",
)  # fmt: skip
TAG = _text("tag", "Tag of the columns that matter.", default="pii")
SINCE = _time("since", "Only what is newer: received, exposed or changed at or after this.")
FROM, TO = _time("from", "From this moment on.", required=True), _time("to", "Up to this one; now without it.")
WINDOW_FROM = FROM._replace(required=False, meaning=f"{FROM.meaning} One hour before `to` without it.")
BUCKETS = _number("buckets", "Into so many parts of equal length the window is cut.", 500, 60)
RUN_ID = _text("run", "A run id.")
RUN_PATH = Parameter("run", {"type": "string", "minLength": 1}, "A run id.", True, "path")
JOB = _text("job", "A job's name, or namespace/name.")
ENTITY = Parameter("entity", {"type": "string", "enum": ["run", "job", "dataset"]}, "What has the facet.", True)
FACET = _text("name", "Name of the facet, such as ownership.", required=True, minLength=1)
SENT_NAMESPACE = _text("namespace", "Namespace as a producer wrote it.")
SENT_NAME = _text("name", "Name as a producer wrote it.", required=True, minLength=1)
AT = _time("at", "What it meant then.")
TEXT = _text("q", "Parts of names, separated by spaces.", required=True, minLength=1, maxLength=MAX_TEXT)
SEARCH_KINDS = _text("kinds", f"Only these, separated by commas: {', '.join(KINDS)}.")
RESUME = _text("lastEventId", "Go on behind the event of this id; the header Last-Event-ID goes before.", maxLength=40)
GROUPS = _choice("groups", "Where groups begin; none shows datasets.", *LEVELS)
EXPAND = _text("expand", "Id of a group to be opened; may come several times.")
