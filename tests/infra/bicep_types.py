"""Check resource bodies against Microsoft's schemas: names, enumeration values, and missing members.

Only literal values are checked; a parameter, a variable or a call may be anything. Enumerations that the schema leaves
open (`A | B | string`) are treated as complete, because a wrong value is more likely than a new one.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

Definitions = Sequence[dict[str, Any]]

_KNOWN_BY_BICEP = frozenset({"parent", "scope", "dependsOn"})
"""Keywords of Bicep in a resource's body."""

_PLAIN = {"string": {"string"}, "int": {"number"}, "bool": {"boolean"}}
_LITERALS = {"string", "number", "boolean", "object", "array"}


def findings(text: str, schemas: Mapping[str, Definitions]) -> Iterator[str]:
    """Yield the problems, with line numbers, of each new resource whose type has a schema."""
    for declared in _below(Parser(Language(tree_sitter_bicep.language())).parse(text.encode()).root_node):
        if declared.type != "resource_declaration" or any(child.type == "existing" for child in declared.children):
            continue
        kind = _words(declared.named_children[1]).partition("@")[0]
        if kind in schemas:
            body = next(node for node in _below(declared.named_children[-1]) if node.type == "object")
            yield from _Judge(schemas[kind]).resource(kind, body)


@dataclass(frozen=True)
class _Judge:
    definitions: Definitions

    def resource(self, kind: str, body: Node) -> Iterator[str]:
        shape = self._chosen(self.definitions[0]["bodyType"], body)
        if shape:
            yield from self._object(kind, shape, body, _KNOWN_BY_BICEP)

    def _object(self, path: str, shape: dict[str, Any], body: Node, also: Set[str] = frozenset()) -> Iterator[str]:
        known = {one["name"]: one for one in shape.get("properties", [])}
        given = dict(_properties(body))
        for name, value in given.items():
            if name in also:
                continue
            if name not in known and not shape.get("additionalPropertiesType") and "${" not in name:
                yield f"{_line(value)}: {path} has no property {name}"
            elif name in known:
                flags = known[name].get("flags", "")
                if "ReadOnly" in flags:
                    yield f"{_line(value)}: {path}.{name} is read-only"
                yield from self._value(f"{path}.{name}", known[name]["type"], value)
        for name, one in known.items():
            if "Required" in one.get("flags", "") and name not in given:
                yield f"{_line(body)}: {path} lacks {name}"

    def _value(self, path: str, kind: str, value: Node) -> Iterator[str]:
        if value.type == "ternary_expression":
            for side in value.named_children[1:]:
                yield from self._value(path, kind, side)
        elif value.type == "array" and kind.endswith("[]"):
            for item in value.named_children:
                yield from self._value(f"{path}[]", kind.removesuffix("[]"), item)
        elif value.type == "for_statement" and kind.endswith("[]"):
            yield from self._value(f"{path}[]", kind.removesuffix("[]"), value.named_children[-1])
        elif shape := self._named(kind, value):
            if value.type == "object":
                yield from self._object(path, shape, value)
            elif value.type in _LITERALS:
                yield f"{_line(value)}: {path} is a {value.type}, not an object"
        else:
            yield from self._plain(path, kind, value)

    def _plain(self, path: str, kind: str, value: Node) -> Iterator[str]:
        if value.type not in _LITERALS or kind == "any" or _has_expression(value):
            return
        if kind in _PLAIN and value.type not in _PLAIN[kind]:
            yield f"{_line(value)}: {path} is a {value.type}, not a {kind}"
        words = [word for word in kind.split(" | ") if word != "string"]
        if " | " in kind and value.type == "string" and _words(value) not in words:
            yield f"{_line(value)}: {path} is {_words(value)!r}, not one of {', '.join(words)}"

    def _named(self, kind: str, value: Node) -> dict[str, Any] | None:
        found = next(
            (one for one in self.definitions[1:] if one.get("name") == kind and "Object" in one["$type"]), None
        )
        return self._chosen(found, value) if found else None

    def _chosen(self, shape: dict[str, Any], body: Node) -> dict[str, Any] | None:
        """Return the variant of a shape that the body selects, including the common members."""
        if shape["$type"] != "DiscriminatedObject":
            return shape
        given = dict(_properties(body))
        says = given.get(shape["discriminator"])
        for one in shape["elements"]:
            mark = next(p for p in one["properties"] if p["name"] == shape["discriminator"])
            if says is not None and _words(says) == mark["type"]:
                return {**one, "properties": [*shape.get("baseProperties", []), *one["properties"]]}
        return None


def _below(node: Node) -> Iterator[Node]:
    yield node
    for child in node.named_children:
        yield from _below(child)


def _properties(body: Node) -> Iterator[tuple[str, Node]]:
    for one in body.named_children:
        if one.type == "object_property" and len(one.named_children) == 2:
            key, value = one.named_children
            yield _words(key), value


def _words(node: Node) -> str:
    return (node.text or b"").decode().strip("'")


def _has_expression(node: Node) -> bool:
    return any(child.type == "interpolation" for child in node.named_children)


def _line(node: Node) -> str:
    return f"line {node.start_point.row + 1}"
