"""Parse the Bicep files and evaluate parts of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tree_sitter_bicep
from pycep import BicepParser
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).parents[2]
BICEP = ROOT / "infra" / "bicep"
MAIN = "main.bicep"
PARAMETERS = ("small.bicepparam", "standard.bicepparam")
APPS = ("receiver", "pipeline")
SINKS = "sinks"
"""The optional app, which has no log settings."""


@cache
def template(name: str) -> dict[str, Any]:
    """Parse a template with pycep into params, variables, resources, modules and outputs by name."""
    return {"parameters": {}, "variables": {}, "resources": {}, "modules": {}, "outputs": {}} | dict(
        BicepParser().parse(text=source(name))
    )


def names() -> list[str]:
    return sorted(path.relative_to(BICEP).as_posix() for path in BICEP.rglob("*.bicep"))


def source(name: str) -> str:
    return (BICEP / name).read_text()


def tree_sitter_errors(text: str) -> list[str]:
    tree = Parser(Language(tree_sitter_bicep.language())).parse(text.encode())
    return [f"line {node.start_point.row + 1}: {node.type}" for node in _nodes(tree.root_node) if _is_wrong(node)]


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _is_wrong(node: Node) -> bool:
    return node.type == "ERROR" or node.is_missing


def as_template(parameters: str) -> str:
    """Turn a parameter file into a template of variables, because the parsers do not support parameter files."""
    text, count = re.subn(r"(?m)^using '([^']+)'$", "", parameters)
    assert count == 1, "a parameter file names its template exactly once"
    return re.sub(r"(?m)^param (\w+) = ", r"var \1 = ", text)


@cache
def parameters(name: str) -> dict[str, Any]:
    """Read the values in a parameter file: constants or function calls."""
    variables = BicepParser().parse(text=as_template(source(name)))["variables"]
    return {name: found["value"] for name, found in variables.items()}


def default(name: str) -> Any:
    return template(MAIN)["parameters"][name]["default"]


def variable(name: str, file: str = MAIN) -> Any:
    return template(file)["variables"][name]["value"]


def app_settings(app: str) -> dict[str, Any]:
    """Return the settings that main gives to one app, without those of every function app (modules/app.bicep)."""
    return {**({} if app == SINKS else variable("commonSettings")), **variable(f"{app}Settings")}


@dataclass(frozen=True)
class Grant:
    """One role assignment: identity, role and scope."""

    who: str
    role: str
    on: str


def grants() -> list[Grant]:
    return [_grant(file, found["config"]) for file, _, found in resources("Microsoft.Authorization/roleAssignments")]


def resources(kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield file, symbolic name and declaration of every resource of a type that a template creates."""
    for file in names():
        for symbol, found in template(file)["resources"].items():
            if found["type"] == kind and not found["existing"]:
                yield file, symbol, found


def body(found: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a resource, without its condition or loop."""
    config: dict[str, Any] = found["config"]
    while "config" in config:
        config = config["config"]
    return config


def dotted(expression: Any) -> str:
    """Write an expression of names as Bicep does: `hub.outputs.host`."""
    if isinstance(expression, str):
        return expression
    operands = expression["operator"]["operands"]
    return f"{dotted(operands['operand_1'])}.{dotted(operands['operand_2'])}"


def _grant(file: str, config: dict[str, Any]) -> Grant:
    config = body({"config": config})
    properties = config["properties"]
    role = properties["roleDefinitionId"]
    if "function" in role:
        role = role["function"]["parameters"]["resource_name_1"]
    who, on = dotted(properties["principalId"]).partition(".")[0], config["scope"]
    if isinstance(on, dict):  # a loop over a list
        on = on["operator"]["operands"]["operand_1"]
    return Grant(f"{file}:{who}", dotted(role).removeprefix("roles.").removesuffix(".id"), on)
