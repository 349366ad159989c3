"""`headwater mcp`: serve questions about lineage to agents over the Model Context Protocol.

Each tool sends its question to a running Headwater and shortens the answer. `left_out` counts the omitted items and
explains how to narrow the question.
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
from headwater.api.routes import installed_routes
from headwater.cli.agents import answers
from headwater.cli.errors import warn
from headwater.cli.server_client import ServerClient
from headwater.common.errors import HeadwaterError
from headwater.questions import definitions
from headwater.questions.answer_types.columns import Word
from headwater.questions.declaring import Question
from headwater.questions.moments import WORDS, Moment
from headwater.questions.registry import QUESTIONS

_INSTRUCTIONS = """Headwater derives column-level lineage from OpenLineage events.
Name a dataset by its location, an alias, or a unique end of its name. If you do not know it, start with `search`.
`stops` are datasets where lineage ends because a job reports no columns, no input or no output. Datasets behind a stop
may be affected. `may be connected` is a hint, not a proof: one run reads without output, and another run of the same
application writes without input.
`unknown` means that neither answer is proven. `left_out` describes what the answer omits."""

_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_WALK_PARAMETERS = ("dataset", "column", "namespace", "mode", "depth", "as_of")
_PATH_PARAMETERS = ("from_dataset", "to_dataset", "from_column", "to_column", "mode")


class ToolSpec(NamedTuple):
    """A tool for a question: the parameters that it offers, the function that shortens the answer, and its type."""

    parameters: tuple[str, ...]
    shorten: Callable[[Any, Container[str]], msgspec.Struct]
    shape: type[msgspec.Struct]


_TOOL_SPECS = {
    definitions.search: ToolSpec(("q", "kinds", "limit"), answers.shorten_search, answers.SearchMatches),
    definitions.impact: ToolSpec(_WALK_PARAMETERS, answers.shorten_reach, answers.ReachedColumns),
    definitions.upstream: ToolSpec(_WALK_PARAMETERS, answers.shorten_reach, answers.ReachedColumns),
    definitions.path: ToolSpec(_PATH_PARAMETERS, answers.shorten_path, answers.PathSteps),
    definitions.surface: ToolSpec(
        ("tag", "dataset", "column", "exposure", "since"), answers.shorten_surface, answers.ExposedColumns
    ),
    definitions.diff: ToolSpec(("from_", "to"), answers.shorten_diff, answers.EdgeChanges),
    definitions.changes: ToolSpec(("from_", "to"), answers.shorten_changes, answers.OtherChanges),
}
"""Tools with a shortened answer, by question. All other questions become tools with all of their parameters."""


def _tool_parameter(question: Question, key: str) -> Any:
    """Return the type annotation of a tool's parameter, which pydantic turns into a JSON schema."""
    each = next(each for each in question.parameters if each.key == key)
    kind = str if each.is_time else each.type
    bounds: dict[str, Any] = {"ge": each.help.least, "le": each.help.most} if each.type is int else {}
    written = " ISO 8601, such as 2026-03-01T12:00:00Z." if each.is_time else ""
    written += f" {WORDS}" if each.type is Moment else ""
    is_optional = not each.required and each.default is None
    return Annotated[kind | None if is_optional else kind, Field(description=each.help.meaning + written, **bounds)]


_Dataset = Annotated[str, _tool_parameter(definitions.timeline, "dataset")]
_Namespace = Annotated[str | None, _tool_parameter(definitions.timeline, "namespace")]


class AgentTools:
    """The tools for agents. Each sends a question over HTTP and shortens the answer."""

    def __init__(self, server: ServerClient):
        self._server = server

    def tools(self) -> list[Tool]:
        """Return one tool for each question, also of installed packages, and `describe`, which combines several."""
        own = (
            _make_tool(self.unused, _answer_schema(answers.ColumnVerdicts)),
            _make_tool(self.describe, _answer_schema(answers.DatasetSummary)),
        )
        named = {made.name for made in own}
        installed = installed_routes()
        for problem in installed.problems:
            warn(problem)
        offered = (*QUESTIONS.load_built_in().values(), sink_routes.sinks, *installed.parts.values())
        return [*(self._tool(each) for each in offered if each.called and each.called not in named), *own]

    def _tool(self, question: Question) -> Tool:
        offer = _TOOL_SPECS.get(question)
        keys = offer.parameters if offer else tuple(each.key for each in question.parameters)
        taken = {each.notebook_name: each for each in question.parameters if each.key in keys}

        def ask(**given: Any) -> CallToolResult:
            set_by_agent = {name for name, value in given.items() if value not in (None, taken[name].default)}
            path = {key: given.pop(key) for key, each in taken.items() if each.place == "path"}
            found = self._ask(question, {taken[name].name: value for name, value in given.items()}, **path)
            return _tool_result(
                self._shorten(question, offer.shorten if offer else answers.shorten_lists, found, set_by_agent)
            )

        ask.__name__, ask.__doc__ = str(question.called), question.description
        ask.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, annotation=_tool_parameter(question, each.key),
                    default=inspect.Parameter.empty if each.required else each.default,
                )
                for name, each in taken.items()
            ],
            return_annotation=CallToolResult,
        )  # fmt: skip
        shape = offer.shape if offer else question.answer
        return _make_tool(ask, _answer_schema(shape, whole=offer is not None) if shape else None)

    def unused(
        self,
        dataset: Annotated[Any, _tool_parameter(definitions.unused, "dataset")] = None,
        verdict: Annotated[Word, Field(description="Which columns to list.")] = "unused",
        strict: Annotated[bool, _tool_parameter(definitions.unused, "strict")] = False,
    ) -> CallToolResult:
        """List columns that can be dropped according to reported lineage. Do not drop `unknown` columns."""
        found = self._ask(definitions.unused, {"dataset": dataset, "strict": strict, "limit": answers.MAX_COLUMNS})
        return _tool_result(
            self._shorten(
                definitions.unused,
                partial(answers.shorten_unused, verdict=verdict),
                found,
                {"dataset"} if dataset else (),
            )
        )

    def describe(self, dataset: _Dataset, namespace: _Namespace = None) -> CallToolResult:
        """Describe a dataset: its columns and their readers, its sources, its consumers, and its latest changes."""
        asked = {"dataset": dataset, "namespace": namespace}
        upstream, impact = (
            self._ask(each, {**asked, "depth": 1}) for each in (definitions.upstream, definitions.impact)
        )
        columns = self._ask(definitions.unused, {**asked, "limit": answers.MAX_COLUMNS})
        timeline = self._ask(definitions.timeline, {**asked, "limit": answers.RECENT_CHANGES})
        summary = self._shorten(
            definitions.timeline,
            lambda found, _: answers.summarize_dataset(upstream, impact, columns, found),
            timeline,
            (),
        )
        return _tool_result(summary)

    def _ask(self, question: Question, given: Mapping[str, Any], **path: str) -> Any:
        sent = {name: value for name, value in given.items() if value is not None and value is not False}
        asked = {name: "true" if value is True else value for name, value in sent.items()}
        try:
            return self._server.ask(question, asked, **path)
        except HeadwaterError as error:
            raise ToolError(str(error)) from error

    def _shorten(
        self, question: Question, shorten: Callable[[Any, Container[str]], Any], found: Any, given: Container[str]
    ) -> Any:
        try:
            return shorten(found, given)
        except (LookupError, TypeError, AttributeError) as error:
            raise ToolError(str(self._server.unexpected_answer(question, error))) from error


def mcp_server(asked: ServerClient) -> MCPServer[Any]:
    """Return an MCP server with the tools."""
    tools = AgentTools(asked).tools()
    return MCPServer(
        "headwater", instructions=_INSTRUCTIONS, version=version("headwater"), tools=tools, log_level="WARNING"
    )


def serve(url: str, key: str | None) -> None:
    """Serve on standard input and output until the client closes them."""
    with closing(ServerClient(url, key)) as client:
        mcp_server(client).run("stdio")


def _make_tool(function: Callable[..., CallToolResult], schema: dict[str, Any] | None) -> Tool:
    made = Tool.from_function(function, annotations=_READ_ONLY)
    made.fn_metadata.output_schema = schema  # pydantic cannot derive the schema of a msgspec type
    return made


def _answer_schema(shape: type[msgspec.Struct], *, whole: bool = True) -> dict[str, Any]:
    """Return the JSON schema of an answer without closed sets of values.

    A server of a later release may send members and values that this release does not know.

    whole: whether the shape has the member `left_out`. If not, `shorten_lists` adds the member to the answer.
    """
    found = msgspec.json.schema(shape)
    parts = found["$defs"]
    root = parts.pop(shape.__name__)
    if not whole:
        root["properties"]["left_out"] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    opened: dict[str, Any] = _without_closed_sets({**root, "$defs": parts})
    return opened


def _without_closed_sets(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_closed_sets(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = ("title", "enum", "additionalProperties")  # not for members with these names: their schemas are objects
    return {
        name: _without_closed_sets(each)
        for name, each in schema.items()
        if name not in left_out or isinstance(each, dict)
    }


def _tool_result(found: Any) -> CallToolResult:
    content = msgspec.to_builtins(found)
    text = TextContent(type="text", text=msgspec.json.encode(content).decode())
    return CallToolResult(content=[text], structured_content=content)
