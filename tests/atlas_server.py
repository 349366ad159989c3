"""A stand-in for Purview's Atlas API that keeps what it takes and is as strict as the real one is said to be.

It upserts by qualified name, all of a request or nothing of it; it refuses types and attributes that it does not know,
qualified names twice in one request, placeholder guids that are not negative texts of their own, and references to
what is not there. Answers and rules: the facts of docs/sinks.md and Atlas' own error codes.
"""

import json
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.sink_server import Asked, Said

ATLAS = "/datamap/api/atlas/v2"
_OF_ALL = {"qualifiedName", "name"}
SCANNED = (
    "azure_datalake_gen2_path", "azure_datalake_gen2_filesystem", "azure_sql_table", "fabric_lakehouse_table",
    "hive_table", "postgresql_table",
)  # fmt: skip


class _Refused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.said = Said(status, json.dumps({"errorCode": code, "errorMessage": message}).encode())


class Atlas:
    """Types and entities of one account; most: entities that a request may have."""

    def __init__(self, most: int = 1000) -> None:
        self.most = most
        self.types: dict[str, set[str]] = {"DataSet": set(), "Process": {"inputs", "outputs"}}
        self.types |= {name: set() for name in SCANNED}
        self.entities: dict[tuple[str, str], dict[str, Any]] = {}
        self.upserts: Counter[tuple[str, str]] = Counter()
        self.requests: list[int] = []

    def answer(self, asked: Asked) -> Said:
        url = urlsplit(asked.path)
        given = parse_qs(url.query)
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            return Said(401)
        if given.get("api-version") != ["2023-09-01"] or not url.path.startswith(ATLAS):
            return Said(404)
        try:
            return self._answer(url.path.removeprefix(ATLAS), given, asked.events)
        except _Refused as refused:
            return refused.said

    def scan(self, kind: str, qualified_name: str, **attributes: str) -> None:
        """Let an asset be there as a scan leaves it."""
        self.entities[kind, qualified_name] = {"qualifiedName": qualified_name, **attributes}

    def of(self, kind: str) -> dict[str, dict[str, Any]]:
        return {name: attributes for (own, name), attributes in self.entities.items() if own == kind}

    def _answer(self, path: str, given: dict[str, list[str]], posted: list[Any]) -> Said:
        if path.startswith("/types/entitydef/name/"):
            return Said(200 if path.rpartition("/")[2] in self.types else 404)
        if path.startswith("/entity/bulk/uniqueAttribute/type/"):
            return self._find(path.rpartition("/")[2], given)
        if path == "/types/typedefs":
            return self._define(posted[0]["entityDefs"])
        assert path == "/entity/bulk", path
        return self._upsert(posted[0]["entities"])

    def _find(self, kind: str, given: dict[str, list[str]]) -> Said:
        """Answer with those that are there; attributes are numbered, each number once."""
        asked = {name: values for name, values in given.items() if name.startswith("attr_")}
        if set(asked) != {f"attr_{number}:qualifiedName" for number in range(1, len(asked) + 1)} or not asked:
            raise _Refused(400, "ATLAS-400-00-000", f"no attributes to find by: {[*asked]}")
        if kind not in self.types:
            raise _Refused(404, "ATLAS-404-00-001", f"Given typename {kind} was invalid")
        keys = [(kind, name) for (name,) in asked.values()]
        found = [{"typeName": kind, "attributes": self.entities[key]} for key in keys if key in self.entities]
        return Said(200, json.dumps({"entities": found, "referredEntities": {}}).encode())

    def _define(self, definitions: list[dict[str, Any]]) -> Said:
        for each in definitions:
            if each["name"] in self.types:
                raise _Refused(409, "ATLAS-409-00-001", f"type {each['name']} already exists")
            if not set(each["superTypes"]) <= self.types.keys():
                raise _Refused(400, "ATLAS-400-00-014", f"unknown super type of {each['name']}")
            attributes = {one["name"] for one in each["attributeDefs"]}
            self.types[each["name"]] = attributes.union(*(self.types[one] for one in each["superTypes"]))
        return Said()

    def _upsert(self, entities: list[dict[str, Any]]) -> Said:
        keys = [(each["typeName"], each["attributes"].get("qualifiedName")) for each in entities]
        names, guids = [name for _, name in keys], [each.get("guid") for each in entities]
        if not 0 < len(entities) <= self.most:
            raise _Refused(400, "ATLAS-400-00-000", f"{len(entities)} entities")
        if len(set(names)) < len(names):
            raise _Refused(400, "ATLAS-400-00-000", "a qualified name is given twice")
        if len(set(guids)) < len(guids) or not all(isinstance(one, str) and int(one) < 0 for one in guids):
            raise _Refused(400, "ATLAS-400-00-000", "a placeholder guid is no negative text of its own")
        for each in entities:
            self._judge(each)
        for key, each in zip(keys, entities, strict=True):
            self.entities[key] = self.entities.get(key, {}) | each["attributes"]
            self.upserts[key] += 1
        self.requests.append(len(entities))
        return Said(200, json.dumps({"guidAssignments": {guid: f"real{guid}" for guid in guids}}).encode())

    def _judge(self, entity: dict[str, Any]) -> None:
        kind, attributes = entity["typeName"], entity["attributes"]
        if kind not in self.types:
            raise _Refused(404, "ATLAS-404-00-001", f"Given typename {kind} was invalid")
        if not all(attributes.get(one) for one in _OF_ALL):
            raise _Refused(400, "ATLAS-400-00-01A", f"mandatory attribute of {kind} is missing")
        if odd := attributes.keys() - _OF_ALL - self.types[kind]:
            raise _Refused(400, "ATLAS-400-00-01A", f"{kind} has no attributes {odd}")
        sides = [[self._referred(one) for one in attributes.get(side, [])] for side in ("inputs", "outputs")]
        for pair in json.loads(attributes.get("columnMapping", "[]")):
            mapped = pair["DatasetMapping"]
            if mapped["Source"] not in sides[0] or mapped["Sink"] not in sides[1] or not pair["ColumnMapping"]:
                raise _Refused(400, "ATLAS-400-00-01A", f"columnMapping of no input or output: {mapped}")

    def _referred(self, reference: dict[str, Any]) -> str:
        name: str = reference["uniqueAttributes"]["qualifiedName"]
        if (reference["typeName"], name) not in self.entities:
            raise _Refused(404, "ATLAS-404-00-009", f"Instance {reference['typeName']} {name} does not exist")
        return name
