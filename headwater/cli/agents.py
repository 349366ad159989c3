"""`headwater mcp`: questions for agents, over the Model Context Protocol, asked of a running Headwater.

Answers are short texts of JSON; what did not fit is named in `left_out`, with how to ask for less or more.
"""

import inspect
from collections.abc import Callable, Container, Mapping
from contextlib import closing
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple

import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from headwater.api import sink_routes
from headwater.cli import agent_answers as short
from headwater.cli import agent_shapes as shapes
from headwater.cli.server_answers import ServerAnswers
from headwater.errors import HeadwaterError
from headwater.questions import declared
from headwater.questions.answers.column_answers import Word
from headwater.questions.declaring import Question, questions_in
from headwater.questions.moments import WORDS, Moment

_INSTRUCTIONS = """Headwater knows from OpenLineage events which column of which dataset is made of which others.
A dataset goes by its location, any alias, or a unique end of its name; begin with `search` where you do not know it.
`stops` are datasets at which lineage stops because jobs name no columns, no input or no output: what follows may be
concerned. `may be connected` is a hint, not a proof: one run reads without output, and another run of the same
application writes without input.
`unknown` is no guess in either direction. `left_out` says what an answer does not show."""

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_WALK = ("dataset", "column", "namespace", "mode", "depth", "as_of")
_ENDS = ("from_dataset", "to_dataset", "from_column", "to_column", "mode")


class Offer(NamedTuple):
    """What agents are offered of a question: some of its parameters, and a shorter answer of this shape."""

    takes: tuple[str, ...]
    shorten: Callable[[Any, Container[str]], msgspec.Struct]
    shape: type[msgspec.Struct]


_OFFERS = {
    declared.search: Offer(("q", "kinds", "limit"), short.search, shapes.NamesFound),
    declared.impact: Offer(_WALK, short.reach, shapes.ColumnsReached),
    declared.upstream: Offer(_WALK, short.reach, shapes.ColumnsReached),
    declared.path: Offer(_ENDS, short.path, shapes.WayShown),
    declared.surface: Offer(("tag", "dataset", "column", "exposure", "since"), short.surface, shapes.ColumnsExposed),
    declared.diff: Offer(("from_", "to"), short.diff, shapes.EdgesChanged),
    declared.changes: Offer(("from_", "to"), short.changes, shapes.ThingsChanged),
}
"""All other questions are tools with all their parameters."""


def _offered(question: Question, key: str) -> Any:
    """Return the annotation of a tool's parameter, of a declared one."""
    each = next(each for each in question.parameters if each.key == key)
    kind = str if each.is_time else each.type
    bounds: dict[str, Any] = {"ge": each.help.least, "le": each.help.most} if each.type is int else {}
    written = " ISO 8601, such as 2026-03-01T12:00:00Z." if each.is_time else ""
    written += f" {WORDS}" if each.type is Moment else ""
    is_optional = not each.required and each.default is None
    return Annotated[kind | None if is_optional else kind, Field(description=each.help.meaning + written, **bounds)]


_Dataset = Annotated[str, _offered(declared.timeline, "dataset")]
_Namespace = Annotated[str | None, _offered(declared.timeline, "namespace")]


class AgentTools:
    """The tools; each asks over HTTP and shortens the answer."""

    def __init__(self, server: ServerAnswers):
        """Ask a running Headwater."""
        self._server = server

    def tools(self) -> list[Tool]:
        """Return all tools: of one question each, and those that put more together."""
        own = _made(self.unused, _schema(shapes.ColumnsJudged)), _made(self.describe, _schema(shapes.DatasetTold))
        named = {made.name for made in own}
        others = (
            each
            for each in (*questions_in(vars(declared)), sink_routes.sinks)
            if each.called and each.called not in named
        )
        return [*map(self._tool, others), *own]

    def _tool(self, question: Question) -> Tool:
        offer = _OFFERS.get(question)
        keys = offer.takes if offer else tuple(each.key for each in question.parameters)
        taken = {each.called: each for each in question.parameters if each.key in keys}

        def ask(**given: Any) -> CallToolResult:
            said = {name for name, value in given.items() if value not in (None, taken[name].default)}
            path = {key: given.pop(key) for key, each in taken.items() if each.place == "path"}
            found = self._ask(question, {taken[name].name: value for name, value in given.items()}, **path)
            return _answer(self._shortened(question, offer.shorten if offer else short.plain, found, said))

        ask.__name__, ask.__doc__ = str(question.called), question.does
        ask.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, annotation=_offered(question, each.key),
                    default=inspect.Parameter.empty if each.required else each.default,
                )
                for name, each in taken.items()
            ],
            return_annotation=CallToolResult,
        )  # fmt: skip
        shape = offer.shape if offer else question.answer
        return _made(ask, _schema(shape, whole=offer is not None) if shape else None)

    def unused(
        self,
        dataset: Annotated[Any, _offered(declared.unused, "dataset")] = None,
        verdict: Annotated[Word, Field(description="Which columns to list.")] = "unused",
        strict: Annotated[bool, _offered(declared.unused, "strict")] = False,
    ) -> CallToolResult:
        """Tell which columns may be dropped, by reported lineage; `unknown` may not."""
        found = self._ask(declared.unused, {"dataset": dataset, "strict": strict, "limit": short.MAX_ASKED})
        return _answer(
            self._shortened(
                declared.unused, partial(short.unused, verdict=verdict), found, {"dataset"} if dataset else ()
            )
        )

    def describe(self, dataset: _Dataset, namespace: _Namespace = None) -> CallToolResult:
        """Tell of a dataset: its columns and who reads them, what it is made of, what it feeds, what changed last."""
        asked = {"dataset": dataset, "namespace": namespace}
        upstream, impact = (self._ask(each, {**asked, "depth": 1}) for each in (declared.upstream, declared.impact))
        columns = self._ask(declared.unused, {**asked, "limit": short.MAX_ASKED})
        timeline = self._ask(declared.timeline, {**asked, "limit": short.CHANGES})
        told = self._shortened(
            declared.timeline, lambda found, _: short.describe(upstream, impact, columns, found), timeline, ()
        )
        return _answer(told)

    def _ask(self, question: Question, given: Mapping[str, Any], **path: str) -> Any:
        said = {name: value for name, value in given.items() if value is not None and value is not False}
        asked = {name: "true" if value is True else value for name, value in said.items()}
        try:
            return self._server.ask(question, asked, **path)
        except HeadwaterError as error:
            raise ToolError(str(error)) from error

    def _shortened(
        self, question: Question, shorten: Callable[[Any, Container[str]], Any], found: Any, given: Container[str]
    ) -> Any:
        try:
            return shorten(found, given)
        except (LookupError, TypeError, AttributeError) as error:
            raise ToolError(str(self._server.misfit(question, error))) from error


def server(asked: ServerAnswers) -> MCPServer[Any]:
    """Return the server of these tools, of our version."""
    tools = AgentTools(asked).tools()
    return MCPServer(
        "headwater", instructions=_INSTRUCTIONS, version=version("headwater"), tools=tools, log_level="WARNING"
    )


def serve(url: str, key: str | None) -> None:
    """Serve on standard input and output until they end."""
    with closing(ServerAnswers(url, key)) as answers:
        server(answers).run("stdio")


def _made(function: Callable[..., CallToolResult], schema: dict[str, Any] | None) -> Tool:
    made = Tool.from_function(function, annotations=_READS)
    made.fn_metadata.output_schema = schema  # of our own shapes, which pydantic does not know
    return made


def _schema(shape: type[msgspec.Struct], *, whole: bool = True) -> dict[str, Any]:
    """Return the schema of an answer; a server of a later release may say more, and in other words, than is known here.

    whole: False of a shape that `left_out` is added to.
    """
    found = msgspec.json.schema(shape)
    parts = found["$defs"]
    root = parts.pop(shape.__name__)
    if not whole:
        root["properties"]["left_out"] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    opened: dict[str, Any] = _opened({**root, "$defs": parts})
    return opened


def _opened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_opened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = ("title", "enum", "additionalProperties")  # of these names a member's schema is an object
    return {name: _opened(each) for name, each in schema.items() if name not in left_out or isinstance(each, dict)}


def _answer(found: Any) -> CallToolResult:
    told = msgspec.to_builtins(found)
    text = TextContent(type="text", text=msgspec.json.encode(told).decode())
    return CallToolResult(content=[text], structured_content=told)
