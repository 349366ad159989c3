"""`headwater mcp`: questions for agents, over the Model Context Protocol, asked of a running Headwater.

Answers are short texts of JSON; what did not fit is named in `left_out`, with how to ask for less or more.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import httpx
import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from headwater.cli import agent_answers as short
from headwater.questions import declared
from headwater.questions.answers.column_answers import Word
from headwater.questions.declaring import Microseconds, Question

_INSTRUCTIONS = """Headwater knows from OpenLineage events which column of which dataset is made of which others.
A dataset goes by its location, any alias, or a unique end of its name; begin with `search` where you do not know it.
`stops` are datasets from which lineage goes on, but by jobs that name no columns: what lies behind may be concerned.
`unknown` is no guess in either direction. `left_out` says what an answer does not show."""

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_WALK = ("dataset", "column", "namespace", "mode", "depth", "as_of")
_ENDS = ("from_dataset", "to_dataset", "from_column", "to_column", "mode")


class Tool(NamedTuple):
    """A question as a tool. takes: those of its parameters that agents are offered."""

    question: Question
    does: str
    takes: tuple[str, ...]
    shorten: Callable[[Any], dict[str, Any]]


_CALLED = {"q": "text", "from_": "since", "to": "until"}
"""What agents call parameters whose names say nothing without their question."""

_TOOLS = (
    Tool(declared.search, "Find jobs, datasets, aliases, columns and tags by parts of their names; slips are forgiven.",
         ("q", "kinds", "limit"), short.search),
    Tool(declared.impact, "List the columns that a column, or a whole dataset, ends up in: what breaks if it changes.",
         _WALK, short.reach),
    Tool(declared.upstream, "List the columns that a column, or a whole dataset, is made of.", _WALK, short.reach),
    Tool(declared.path, "Tell whether one column or dataset reaches another, and by which shortest way.",
         _ENDS, short.path),
    Tool(declared.surface, "List where tagged columns, or one column, end up: exposed, masked, or unknown.\n\n"
         "Masked code is not masked data: `in the clear until` names when a column was last written without a mask.",
         ("tag", "dataset", "column", "exposure"), short.surface),
    Tool(declared.diff, "List which column edges were added, removed or changed between two moments.",
         ("from_", "to"), short.diff),
)  # fmt: skip


def _offered(question: Question, key: str) -> Any:
    """Return the annotation of a tool's parameter, of a declared one."""
    each = next(each for each in question.parameters if each.key == key)
    kind = str if each.type is Microseconds else each.type
    bounds: dict[str, Any] = {"ge": each.help.least, "le": each.help.most} if each.type is int else {}
    written = " ISO 8601, such as 2026-03-01T12:00:00Z." if each.type is Microseconds else ""
    is_optional = not each.required and each.default is None
    return Annotated[kind | None if is_optional else kind, Field(description=each.help.meaning + written, **bounds)]


_Dataset = Annotated[str, _offered(declared.timeline, "dataset")]
_Namespace = Annotated[str | None, _offered(declared.timeline, "namespace")]


class AgentTools:
    """The tools; each asks over HTTP and shortens the answer."""

    def __init__(self, client: httpx.Client):
        """Ask through a client that has the address and the key."""
        self._client = client

    def tools(self) -> list[Callable[..., str]]:
        """Return the functions of all tools: of one question each, and those that put more together."""
        return [*map(self._tool, _TOOLS), self.unused, self.describe]

    def _tool(self, tool: Tool) -> Callable[..., str]:
        parameters = {_CALLED.get(key, key): key for key in tool.takes}
        declared_as = {each.key: each for each in tool.question.parameters}

        def ask(**given: Any) -> str:
            asked = {declared_as[parameters[name]].name: value for name, value in given.items()}
            return _text(tool.shorten(self._ask(tool.question.path, **asked)))

        ask.__name__, ask.__doc__ = tool.question.name, tool.does
        ask.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, annotation=_offered(tool.question, key),
                    default=inspect.Parameter.empty if declared_as[key].required else declared_as[key].default,
                )
                for name, key in parameters.items()
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
            answer = self._client.get(f"/api/headwater/v1/{question}", params=asked)
        except httpx.TransportError as error:
            raise ToolError(
                f"No answer from {self._client.base_url}: {error}. Start `headwater up`, or name it with --to."
            ) from error
        if answer.status_code == 200:
            return answer.json()
        try:
            refused = answer.json()
            nearest = f" Nearest: {', '.join(refused['nearest'])}." if refused.get("nearest") else ""
            raise ToolError(f"{refused['error']} {refused['fix']}{nearest}")
        except (ValueError, KeyError):
            raise ToolError(f"Status {answer.status_code} from {self._client.base_url}. Is it a Headwater?") from None


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
