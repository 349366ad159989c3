"""A stand-in for Purview's Atlas API that stores entities and is as strict as the real service is documented to be.

It upserts by type and qualified name, and applies a request completely or not at all. It refuses unknown types and
attributes, duplicate qualified names in one request, placeholder guids that are not distinct negative numbers,
references to missing entities, columns without their table, and relations that a type does not have. Deleting a table
deletes its columns. Answers refer to entities by guid. The rules follow docs/reference/sinks.md and Atlas' error codes.
"""

import json
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.servers.sink_target import Asked, Said

Key = tuple[str, str]
ATLAS = "/datamap/api/atlas/v2"
_OF_ALL = {"qualifiedName", "name"}
SCANNED = (
    "azure_datalake_gen2_path", "azure_datalake_gen2_filesystem", "azure_sql_table", "fabric_lakehouse_table",
    "hive_table", "postgresql_table",
)  # fmt: skip


COLUMNS = {"azure_sql_column": ("data_type", "azure_sql_table"), "hive_column": ("type", "hive_table")}
"""Column types, their required attribute, and the type of their `table`, which refers to them as `columns`."""


class _Refused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.said = Said(status, json.dumps({"errorCode": code, "errorMessage": message}).encode())


class Atlas:
    """Types and entities of one account. most: maximum number of entities in a request."""

    def __init__(self, most: int = 1000) -> None:
        self.most = most
        self.types: dict[str, set[str]] = {"DataSet": {"description"}, "Process": {"inputs", "outputs"}}
        self.types |= {name: set() for name in SCANNED}
        self.types |= {name: {"description", "comment", needed} for name, (needed, _) in COLUMNS.items()}
        self.tables = {name: table for name, (_, table) in COLUMNS.items()}
        """Type of columns → type of their table."""
        self.table_of: dict[Key, Key] = {}
        self.custom: dict[Key, dict[str, str]] = {}
        self.entities: dict[tuple[str, str], dict[str, Any]] = {}
        self.upserts: Counter[tuple[str, str]] = Counter()
        self.requests: list[int] = []
        self.deleted: list[Key] = []
        self._guids: dict[Key, str] = {}

    def answer(self, asked: Asked) -> Said:
        url = urlsplit(asked.path)
        given = parse_qs(url.query)
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            return Said(401)
        if given.get("api-version") != ["2023-09-01"]:
            return Said(404)
        if url.path == "/datamap/api/search/query":
            return self._search(asked.events[0])
        if not url.path.startswith(ATLAS):
            return Said(404)
        try:
            return self._answer(url.path.removeprefix(ATLAS), given, asked.events, asked.method)
        except _Refused as refused:
            return refused.said

    def scan(self, kind: str, qualified_name: str, **attributes: str) -> None:
        """Add an asset as a scan would."""
        self.entities[kind, qualified_name] = {"qualifiedName": qualified_name, **attributes}

    def of(self, kind: str) -> dict[str, dict[str, Any]]:
        return {name: attributes for (own, name), attributes in self.entities.items() if own == kind}

    def _answer(self, path: str, given: dict[str, list[str]], posted: list[Any], method: str) -> Said:
        if path.startswith("/types/entitydef/name/"):
            return Said(200 if path.rpartition("/")[2] in self.types else 404)
        if path == "/entity/bulk" and "guid" in given:
            return self._by_guid(given["guid"], delete=method == "DELETE")
        if path.startswith("/entity/bulk/uniqueAttribute/type/"):
            return self._find(path.rpartition("/")[2], given)
        if path == "/types/typedefs":
            return self._define(posted[0]["entityDefs"], posted[0]["relationshipDefs"])
        assert path == "/entity/bulk", path
        return self._upsert(posted[0]["entities"])

    def _find(self, kind: str, given: dict[str, list[str]]) -> Said:
        """Answer with the requested entities that exist. The attributes must be numbered from 1, each number once."""
        asked = {name: values for name, values in given.items() if name.startswith("attr_")}
        if set(asked) != {f"attr_{number}:qualifiedName" for number in range(1, len(asked) + 1)} or not asked:
            raise _Refused(400, "ATLAS-400-00-000", f"no attributes to find by: {[*asked]}")
        if kind not in self.types:
            raise _Refused(404, "ATLAS-404-00-001", f"Given typename {kind} was invalid")
        keys = [(kind, name) for (name,) in asked.values()]
        related = given.get("ignoreRelationships") != ["true"]
        return self._told([key for key in keys if key in self.entities], related=related)

    def _told(self, keys: list[Key], *, related: bool) -> Said:
        """Answer with entities, whose references use guids."""
        found = [self._shown(key) | ({"relationshipAttributes": self._related(key)} if related else {}) for key in keys]
        return Said(200, json.dumps({"entities": found, "referredEntities": {}}).encode())

    def _shown(self, key: Key) -> dict[str, Any]:
        attributes = dict(self.entities[key])
        for side in {"inputs", "outputs"} & attributes.keys():
            keys = [(one["typeName"], one["uniqueAttributes"]["qualifiedName"]) for one in attributes[side]]
            attributes[side] = [{"typeName": kind, "guid": self.guid((kind, name))} for kind, name in keys]
        custom = {"customAttributes": self.custom[key]} if key in self.custom else {}
        return {"typeName": key[0], "guid": self.guid(key), "attributes": attributes, **custom}

    def _related(self, key: Key) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, side in (("inputToProcesses", "inputs"), ("outputFromProcesses", "outputs")):
            users = [own for own, each in self.entities.items() if key[1] in map(_named, each.get(side, ()))]
            found[name] = [{"typeName": own[0], "guid": self.guid(own)} for own in users]
        columns = [own for own, table in self.table_of.items() if table == key]
        found["columns"] = [{"typeName": own[0], "guid": self.guid(own)} for own in columns]
        return found

    def guid(self, key: Key) -> str:
        """Return the guid of an entity, which stays the same until the entity is deleted."""
        return self._guids.setdefault(key, f"guid-{len(self._guids) + 1}-{len(self.deleted)}")

    def _by_guid(self, guids: list[str], *, delete: bool) -> Said:
        wanted = {*guids}
        keys = [key for key, guid in self._guids.items() if guid in wanted and key in self.entities]
        if not delete:
            return self._told(keys, related=False)
        if len(keys) < len(guids):
            raise _Refused(404, "ATLAS-404-00-005", "Given instance guid is invalid")
        for key in keys:
            self.deleted.append(key)
            for gone in (key, *[own for own, table in self.table_of.items() if table == key]):
                del self.entities[gone]
                self._guids.pop(gone, None)
                self.table_of.pop(gone, None)
                self.custom.pop(gone, None)
            for each in self.entities.values():
                for side in {"inputs", "outputs"} & each.keys():
                    each[side] = [one for one in each[side] if _named(one) != key[1]]
        return Said()

    def _search(self, asked: dict[str, Any]) -> Said:
        words = str(asked["keywords"]).lower()
        found = [
            {"id": self.guid(key), "entityType": key[0], "qualifiedName": key[1], "name": each.get("name")}
            for key, each in self.entities.items()
            if words in key[1].lower() or words in str(each.get("name")).lower()
        ]
        return Said(200, json.dumps({"@search.count": len(found), "value": found[: asked["limit"]]}).encode())

    def _define(self, definitions: list[dict[str, Any]], relations: list[dict[str, Any]]) -> Said:
        for each in definitions:
            if each["name"] in self.types:
                raise _Refused(409, "ATLAS-409-00-001", f"type {each['name']} already exists")
            if not set(each["superTypes"]) <= self.types.keys():
                raise _Refused(400, "ATLAS-400-00-014", f"unknown super type of {each['name']}")
            attributes = {one["name"] for one in each["attributeDefs"]}
            self.types[each["name"]] = attributes.union(*(self.types[one] for one in each["superTypes"]))
        for each in relations:
            ends = each["endDef1"], each["endDef2"]
            if not {end["type"] for end in ends} <= self.types.keys() or [end["isContainer"] for end in ends] != [
                True,
                False,
            ]:
                raise _Refused(400, "ATLAS-400-00-031", f"ends of {each['name']}: {ends}")
            assert [end["name"] for end in ends] == ["columns", "table"]
            self.tables[ends[1]["type"]] = ends[0]["type"]
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
        here: dict[str, Key] = dict(zip(map(str, guids), keys, strict=True))
        tables = {
            key: self._table(each, here) for key, each in zip(keys, entities, strict=True) if key[0] in self.tables
        }
        for each in entities:
            self._judge(each)
        self.table_of |= tables
        for key, each in zip(keys, entities, strict=True):
            self.entities[key] = self.entities.get(key, {}) | self._resolved(each["attributes"])
            self.custom |= {key: each["customAttributes"]} if "customAttributes" in each else {}
            self.upserts[key] += 1
        self.requests.append(len(entities))
        return Said(200, json.dumps({"guidAssignments": {guid: f"real{guid}" for guid in guids}}).encode())

    def _table(self, column: dict[str, Any], here: dict[str, Key]) -> Key:
        """Return the table of a column. The table must exist or precede the column in the request."""
        kind, related = column["typeName"], column.get("relationshipAttributes", {})
        if related.keys() != {"table"}:
            raise _Refused(400, "ATLAS-400-00-01A", f"{kind} must have the relation table, has {[*related]}")
        told = related["table"]
        if told["typeName"] != self.tables[kind]:
            raise _Refused(400, "ATLAS-400-00-031", f"a {told['typeName']} has no {kind}")
        if told.get("guid") in here:
            if -int(told["guid"]) > -int(column["guid"]) or here[told["guid"]][0] != told["typeName"]:
                raise _Refused(400, "ATLAS-400-00-01A", f"{told['guid']} is no table before its column")
            return here[told["guid"]]
        return told["typeName"], self._referred(told)

    def _judge(self, entity: dict[str, Any]) -> None:
        kind, attributes = entity["typeName"], entity["attributes"]
        if kind not in self.types:
            raise _Refused(404, "ATLAS-404-00-001", f"Given typename {kind} was invalid")
        if not all(attributes.get(one) for one in _OF_ALL):
            raise _Refused(400, "ATLAS-400-00-01A", f"mandatory attribute of {kind} is missing")
        if kind in COLUMNS and not attributes.get(COLUMNS[kind][0]):
            raise _Refused(400, "ATLAS-400-00-01A", f"mandatory attribute of {kind} is missing")
        if not all(isinstance(text, str) for text in entity.get("customAttributes", {}).values()):
            raise _Refused(400, "ATLAS-400-00-01A", "custom attributes are texts")
        if kind not in self.tables and "relationshipAttributes" in entity:
            raise _Refused(400, "ATLAS-400-00-01A", f"{kind} has no relation to a table")
        if odd := attributes.keys() - _OF_ALL - self.types[kind]:
            raise _Refused(400, "ATLAS-400-00-01A", f"{kind} has no attributes {odd}")
        sides = [[self._referred(one) for one in attributes.get(side, [])] for side in ("inputs", "outputs")]
        for pair in json.loads(attributes.get("columnMapping", "[]")):
            mapped = pair["DatasetMapping"]
            if mapped["Source"] not in sides[0] or mapped["Sink"] not in sides[1] or not pair["ColumnMapping"]:
                raise _Refused(400, "ATLAS-400-00-01A", f"columnMapping of no input or output: {mapped}")

    def _referred(self, reference: dict[str, Any]) -> str:
        if "guid" in reference:
            reference = self._resolve(reference)
        name: str = reference["uniqueAttributes"]["qualifiedName"]
        if (reference["typeName"], name) not in self.entities:
            raise _Refused(404, "ATLAS-404-00-009", f"Instance {reference['typeName']} {name} does not exist")
        return name

    def _resolved(self, attributes: dict[str, Any]) -> dict[str, Any]:
        sides = {"inputs", "outputs"} & attributes.keys()
        return attributes | {side: [*map(self._resolve, attributes[side])] for side in sides}

    def _resolve(self, reference: dict[str, Any]) -> dict[str, Any]:
        """Convert a reference to one by qualified name. Refuses a reference to a missing entity."""
        if "guid" not in reference:
            return reference
        key = next((key for key, guid in self._guids.items() if guid == reference["guid"]), None)
        if key not in self.entities or key is None:
            raise _Refused(404, "ATLAS-404-00-005", f"Given instance guid {reference['guid']} is invalid")
        return {"typeName": key[0], "uniqueAttributes": {"qualifiedName": key[1]}}


def _named(reference: dict[str, Any]) -> str:
    return str(reference["uniqueAttributes"]["qualifiedName"])
