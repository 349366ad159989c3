"""`headwater mcp`: questions for agents, over the Model Context Protocol, asked of a running Headwater.

Answers are short texts of JSON; what did not fit is named in `left_out`, with how to ask for less or more.
"""

from typing import Annotated, Any, Literal

import httpx
import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from headwater.cli import agent_answers as short

_INSTRUCTIONS = """Headwater knows from OpenLineage events which column of which dataset is made of which others.
A dataset goes by its location, any alias, or a unique end of its name; begin with `search` where you do not know it.
`stops` are datasets from which lineage goes on, but by jobs that name no columns: what lies behind may be concerned.
`unknown` is no guess in either direction. `left_out` says what an answer does not show."""

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

DatasetName = Annotated[str, Field(description="Location, alias, or unique end of the name of a dataset.")]
ColumnName = Annotated[str | None, Field(description="A column; without it the whole dataset.")]
Namespace = Annotated[str | None, Field(description="Namespace, where the name alone is not enough.")]
Mode = Annotated[
    Literal["value", "any"], Field(description="value: what values are made of; any: also filters, joins, groupings.")
]
Depth = Annotated[int | None, Field(ge=1, le=1000, description="At most so many steps away.")]
AsOf = Annotated[str | None, Field(description="Lineage as of then, ISO 8601, such as 2026-03-01T12:00:00Z.")]


class Questions:
    """The tools; each asks over HTTP and shortens the answer."""

    def __init__(self, client: httpx.Client):
        """Ask through a client that has the address and the key."""
        self._client = client

    def search(
        self,
        text: Annotated[str, Field(description="Parts of names, separated by spaces; slips are forgiven.")],
        kinds: Annotated[str | None, Field(description="Only these of job,dataset,alias,column,tag.")] = None,
        limit: Annotated[int, Field(ge=1, le=60)] = 20,
    ) -> str:
        """Find jobs, datasets, aliases, columns and tags by parts of their names."""
        return _text(short.search(self._ask("search", q=text, kinds=kinds, limit=limit)))

    def impact(
        self, dataset: DatasetName, column: ColumnName = None, namespace: Namespace = None, mode: Mode = "value",
        depth: Depth = None, as_of: AsOf = None,
    ) -> str:  # fmt: skip
        """List the columns that a column, or a whole dataset, ends up in: what breaks if it changes."""
        asked = {"dataset": dataset, "column": column, "namespace": namespace, "mode": mode, "depth": depth}
        return _text(short.reach(self._ask("impact", **asked, asOf=as_of)))

    def upstream(
        self, dataset: DatasetName, column: ColumnName = None, namespace: Namespace = None, mode: Mode = "value",
        depth: Depth = None, as_of: AsOf = None,
    ) -> str:  # fmt: skip
        """List the columns that a column, or a whole dataset, is made of."""
        asked = {"dataset": dataset, "column": column, "namespace": namespace, "mode": mode, "depth": depth}
        return _text(short.reach(self._ask("upstream", **asked, asOf=as_of)))

    def path(
        self, from_dataset: DatasetName, to_dataset: DatasetName, from_column: ColumnName = None,
        to_column: ColumnName = None, mode: Mode = "value",
    ) -> str:  # fmt: skip
        """Tell whether one column or dataset reaches another, and by which shortest way."""
        asked = {
            "fromDataset": from_dataset, "fromColumn": from_column, "toDataset": to_dataset, "toColumn": to_column,
        }  # fmt: skip
        return _text(short.path(self._ask("path", **asked, mode=mode)))

    def surface(
        self,
        tag: Annotated[str, Field(description="Tag of the columns that matter.")] = "pii",
        dataset: Annotated[str | None, Field(description="Instead of a tag: start from this dataset.")] = None,
        column: ColumnName = None,
        exposure: Annotated[
            Literal["exposed", "unknown", "masked", "once_exposed"] | None,
            Field(description="Only these; once_exposed: masked now, and written in the clear before."),
        ] = None,
    ) -> str:
        """List where tagged columns, or one column, end up: exposed, masked, or unknown.

        Masked code is not masked data: `in the clear until` names when a column was last written without a mask.
        """
        asked = {"tag": tag, "dataset": dataset, "column": column, "exposure": exposure}
        return _text(short.surface(self._ask("surface", **asked)))

    def unused(
        self,
        dataset: Annotated[str | None, Field(description="A dataset; all of them without one.")] = None,
        verdict: Annotated[
            Literal["unused", "unknown", "used"], Field(description="Which columns to list.")
        ] = "unused",
        strict: Annotated[
            bool, Field(description="What a job read and wrote nowhere (shown to somebody) is unknown, not unused.")
        ] = False,
    ) -> str:
        """Tell which columns may be dropped, by reported lineage; `unknown` may not."""
        asked = {"dataset": dataset, "strict": "true" if strict else None, "limit": short.MAX_ASKED}
        return _text(short.unused(self._ask("unused", **asked), verdict))

    def diff(
        self,
        since: Annotated[str, Field(description="From this moment, ISO 8601.")],
        until: Annotated[str | None, Field(description="To this one; now without it.")] = None,
    ) -> str:
        """List which column edges were added, removed or changed between two moments."""
        return _text(short.diff(self._ask("diff", **{"from": since}, to=until)))

    def describe(self, dataset: DatasetName, namespace: Namespace = None) -> str:
        """Tell of a dataset: its columns and who reads them, what it is made of, what it feeds, what changed last."""
        asked = {"dataset": dataset, "namespace": namespace}
        upstream, impact = (self._ask(question, **asked, depth=1) for question in ("upstream", "impact"))
        columns = self._ask("unused", **asked, limit=short.MAX_ASKED)
        timeline = self._ask("timeline", **asked, limit=short.CHANGES)
        return _text(short.describe(upstream, impact, columns, timeline))

    def _ask(self, question: str, **parameters: Any) -> Any:
        asked = {name: value for name, value in parameters.items() if value is not None}
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
    questions = Questions(client)
    for tool in (
        questions.search, questions.impact, questions.upstream, questions.path, questions.surface, questions.unused,
        questions.diff, questions.describe,
    ):  # fmt: skip
        made.tool(annotations=_READS, structured_output=False)(tool)
    return made


def serve(url: str, key: str | None) -> None:
    """Serve on standard input and output until they end."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
        server(client).run("stdio")


def _text(answer: dict[str, Any]) -> str:
    return msgspec.json.encode(answer).decode()
