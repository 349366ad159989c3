"""`headwater mcp`: questions for agents, over the Model Context Protocol, asked of a running Headwater.

Answers are short texts of JSON; what did not fit is named in `left_out`, with how to ask for less or more.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

import httpx
import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from headwater.api import sink_routes
from headwater.cli import agent_answers as short
from headwater.cli.server_answers import ServerAnswers
from headwater.errors import HeadwaterError
from headwater.questions import declared
from headwater.questions.answers.column_answers import Word
from headwater.questions.declaring import Question, questions_in
from headwater.questions.moments import WORDS, Moment

_INSTRUCTIONS = """Headwater knows from OpenLineage events which column of which dataset is made of which others.
A dataset goes by its location, any alias, or a unique end of its name; begin with `search` where you do not know it.
`stops` are datasets from which lineage goes on, but by jobs that name no columns: what lies behind may be concerned.
`unknown` is no guess in either direction. `left_out` says what an answer does not show."""

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_WALK = ("dataset", "column", "namespace", "mode", "depth", "as_of")
_ENDS = ("from_dataset", "to_dataset", "from_column", "to_column", "mode")


class Tool(NamedTuple):
    """What agents are offered of a question: some of its parameters, and a shorter answer."""

    takes: tuple[str, ...]
    shorten: Callable[[Any], dict[str, Any]]


_TOOLS = {
    declared.search: Tool(("q", "kinds", "limit"), short.search),
    declared.impact: Tool(_WALK, short.reach),
    declared.upstream: Tool(_WALK, short.reach),
    declared.path: Tool(_ENDS, short.path),
    declared.surface: Tool(("tag", "dataset", "column", "exposure"), short.surface),
    declared.diff: Tool(("from_", "to"), short.diff),
    declared.changes: Tool(("from_", "to"), short.changes),
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

    def __init__(self, client: httpx.Client):
        """Ask through a client that has the address and the key."""
        self._server = ServerAnswers(client)

    def tools(self) -> list[Callable[..., str]]:
        """Return the functions of all tools: of one question each, and those that put more together."""
        own: list[Callable[..., str]] = [self.unused, self.describe]
        named = {tool.__name__ for tool in own}
        others = (
            each
            for each in (*questions_in(vars(declared)), sink_routes.sinks)
            if each.called and each.called not in named
        )
        return [*map(self._tool, others), *own]

    def _tool(self, question: Question) -> Callable[..., str]:
        tool = _TOOLS.get(question) or Tool(tuple(each.key for each in question.parameters), short.plain)
        taken = {each.called: each for each in question.parameters if each.key in tool.takes}

        def ask(**given: Any) -> str:
            path = {key: quote(given.pop(key), safe="") for key, each in taken.items() if each.place == "path"}
            asked = {taken[name].name: value for name, value in given.items()}
            return _text(tool.shorten(self._ask(question.path.format(**path), **asked)))

        ask.__name__, ask.__doc__ = str(question.called), question.does
        ask.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, annotation=_offered(question, each.key),
                    default=inspect.Parameter.empty if each.required else each.default,
                )
                for name, each in taken.items()
            ],
            return_annotation=str,
        )  # fmt: skip
        return ask

    def unused(
        self,
        dataset: Annotated[Any, _offered(declared.unused, "dataset")] = None,
        verdict: Annotated[Word, Field(description="Which columns to list.")] = "unused",
        strict: Annotated[bool, _offered(declared.unused, "strict")] = False,
    ) -> str:
        """Tell which columns may be dropped, by reported lineage; `unknown` may not."""
        asked = {"dataset": dataset, "strict": strict or None, "limit": short.MAX_ASKED}
        return _text(short.unused(self._ask("unused", **asked), verdict))

    def describe(self, dataset: _Dataset, namespace: _Namespace = None) -> str:
        """Tell of a dataset: its columns and who reads them, what it is made of, what it feeds, what changed last."""
        asked = {"dataset": dataset, "namespace": namespace}
        upstream, impact = (self._ask(question, **asked, depth=1) for question in ("upstream", "impact"))
        columns = self._ask("unused", **asked, limit=short.MAX_ASKED)
        timeline = self._ask("timeline", **asked, limit=short.CHANGES)
        return _text(short.describe(upstream, impact, columns, timeline))

    def _ask(self, question: str, **parameters: Any) -> Any:
        given = {name: value for name, value in parameters.items() if value is not None and value is not False}
        asked = {name: "true" if value is True else value for name, value in given.items()}
        try:
            return self._server.ask(question, asked)
        except HeadwaterError as error:
            raise ToolError(str(error)) from error


def server(client: httpx.Client) -> MCPServer[Any]:
    """Return the server of these tools."""
    made: MCPServer[Any] = MCPServer("headwater", instructions=_INSTRUCTIONS, log_level="WARNING")
    for tool in AgentTools(client).tools():
        made.tool(annotations=_READS, structured_output=False)(tool)
    return made


def serve(url: str, key: str | None) -> None:
    """Serve on standard input and output until they end."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
        server(client).run("stdio")


def _text(answer: dict[str, Any]) -> str:
    return msgspec.json.encode(answer).decode()
