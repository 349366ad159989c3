"""Read Microsoft's schemas of Azure resource types from the package `msmcp-azure`, which works offline.

`make setup-test` (`python -m tools.azure_types`) stores the schemas of the types that the templates use in
`.cache/azure_types/`. The package contains one version of each type, often an older one than the templates use, and
lacks some types. The lock file is created by `uv pip compile tools/azure-types.in --universal --python-version 3.11
--generate-hashes --no-emit-index-url --no-header -o locks/azure-types.txt`.
"""

import asyncio
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

from tools.locked_environment import ROOT, Missing, in_order, locked_environment

LOCK = ROOT / "locks/azure-types.txt"
HOME = ROOT / ".cache" / "azure_types"
TEMPLATES = ROOT / "infra" / "bicep"

_SERVER = "venv/lib/python*/site-packages/msmcp_azure/bin/azmcp"
_QUIET = {"AZURE_MCP_COLLECT_TELEMETRY": "false"}
_USED = re.compile(r"^resource \w+ '(Microsoft\.[\w./]+)@", re.MULTILINE)


def schemas() -> dict[str, list[dict[str, Any]]]:
    """Return the definitions of each resource type of the templates that the package contains.

    The first definition of a type is the resource. It refers to the others by name. Raises Missing.
    """
    kinds = used()
    locked_environment(HOME, LOCK, sys.executable, "Microsoft's schemas of Azure's resources")
    cache_file = HOME / "types.json"
    found: dict[str, list[dict[str, Any]]] = json.loads(cache_file.read_text()) if cache_file.exists() else {}
    if set(found) != set(kinds):
        found = asyncio.run(_ask(_server(), kinds))
        cache_file.write_text(json.dumps(found))
    return {kind: definitions for kind, definitions in found.items() if definitions}


def used() -> list[str]:
    """Return the resource types that the templates use."""
    return sorted({kind for path in TEMPLATES.rglob("*.bicep") for kind in _USED.findall(path.read_text())})


def main() -> int:
    """Store the schemas; does nothing if they are complete."""
    asked = len(used())
    return in_order(
        "azure types", lambda: f"Schemas of Azure's resources: {len(schemas())} of the {asked} types that templates use"
    )


def _server() -> Path:
    server = next(HOME.glob(_SERVER), None)
    if server is None:
        raise Missing(f"{LOCK.name} has no server for this platform (only for Linux and macOS)")
    server.chmod(0o755)  # pip does not preserve the executable bit
    return server


async def _ask(server: Path, kinds: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Query all types from one server process; an unknown type has no definitions."""
    environment = _QUIET | {"DOTNET_BUNDLE_EXTRACT_BASE_DIR": str(HOME / "bundle"), "HOME": str(HOME)}
    arguments = ["server", "start", "--mode", "all", "--namespace", "bicepschema"]
    started = StdioServerParameters(command=str(server), args=arguments, env=environment)
    async with stdio_client(started) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        return {kind: await _definitions(session, kind) for kind in kinds}


async def _definitions(session: ClientSession, kind: str) -> list[dict[str, Any]]:
    answer = await session.call_tool("bicepschema_get", {"resource-type": kind})
    (content,) = answer.content
    if not isinstance(content, TextContent):
        raise Missing(f"the schema server returned {content.type} instead of text for {kind}")
    result = json.loads(content.text)
    return result["results"]["BicepSchemaResult"] if result["status"] == 200 else []


if __name__ == "__main__":
    sys.exit(main())
