"""A stand-in for Fabric's REST API with one workspace.

It checks every request and answer against Microsoft's description of the API. It does not test what Fabric does with a
request: whether a definition is valid, a role is sufficient or a name is available again.
"""

import json
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.servers.fabric_judge import problems, route_of, routes

TOKEN = "the-token"
PAGE = 3
_BODIES = {
    ("POST", "/connections"): ("core", "CreateConnectionRequest"),
    ("POST", "/workspaces/{workspaceId}/items"): ("core", "CreateItemRequest"),
    ("PATCH", "/workspaces/{workspaceId}/items/{itemId}"): ("core", "UpdateItemRequest"),
    ("POST", "/workspaces/{workspaceId}/items/{itemId}/updateDefinition"): ("core", "UpdateItemDefinitionRequest"),
    ("POST", "/workspaces/{workspaceId}/items/{itemId}/shortcuts"): ("core", "CreateShortcutRequest"),
    ("POST", "/workspaces/{workspaceId}/dataPipelines/{dataPipelineId}/jobs/execute/schedules"): (
        "datapipeline", "CreateDataPipelineExecuteScheduleRequest",
    ),
    ("PATCH", "/workspaces/{workspaceId}/dataPipelines/{dataPipelineId}/jobs/execute/schedules/{scheduleId}"): (
        "datapipeline", "UpdateDataPipelineExecuteScheduleRequest",
    ),
}  # fmt: skip
Answer = tuple[int, Any, dict[str, str]]


class FabricServer(ThreadingHTTPServer):
    """One workspace.

    wrong: requests that Fabric's API does not have. refuse: may answer instead of the server. spoil: may change an
    answer. publishing: the states of an environment after publishing, one per request.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.id = str(uuid.uuid4())
        self.capacity: dict[str, Any] = {
            "id": str(uuid.uuid4()), "displayName": "c", "sku": "F2", "region": "West Europe", "state": "Active"
        }  # fmt: skip
        self.workspace: dict[str, Any] = {
            "id": self.id, "displayName": 'Sales "EU": #1', "description": "", "type": "Workspace",
            "capacityId": self.capacity["id"], "capacityAssignmentProgress": "Completed",
        }  # fmt: skip
        self.connections: list[dict[str, Any]] = []
        self.items: dict[str, dict[str, Any]] = {}
        self.parts: dict[str, list[dict[str, Any]]] = {}
        self.shortcuts: dict[str, list[dict[str, Any]]] = {}
        self.schedules: list[dict[str, Any]] = []
        self.published: list[str] = []
        self.publishing = ["Success"]
        self.writable = {"silver", "gold"}
        self.files: set[str] = set()
        self.written: list[str] = []
        self.wrong: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self.refuse: Callable[[str, str, int], Answer | None] = lambda _method, _path, _count: None
        self.spoil: Callable[[str, str, Answer], Answer] = lambda _method, _path, answer: answer
        self._operations: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    @property
    def changed(self) -> list[tuple[str, str]]:
        """Return the requests that change something."""
        return [each for each in self.asked if each[0] != "GET"]

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> Answer:
        """Check a request and answer from the current state of the workspace."""
        with self._lock:
            self.asked.append((method, path))
            if refused := self.refuse(method, path, len(self.asked)):
                return refused
            try:
                route, named = route_of(method, path, query)
                self._judge(method, route.template, body)
            except AssertionError as error:
                self.wrong.append(str(error))
                return refusal(400, "InvalidRequest", str(error))
            if named.get("workspaceId", self.id) != self.id:
                return refusal(404, "WorkspaceNotFound", "There is none.")
            name = f"_{method.lower()}_" + "_".join(part for part in route.template.split("/") if part[:1] not in "{")
            do: Callable[..., Answer] = getattr(self, name + ("_one" if route.template.endswith("}") else ""))
            try:
                return self.spoil(method, path, do(named, query, body))
            # an error of the stand-in, which the client must not mistake for an answer of Fabric
            except Exception as error:
                self.wrong.append(repr(error))
                raise

    def onelake(self, method: str, path: str) -> Answer:
        """Answer a request to a file behind the shortcut, by the permissions of the connection's identity."""
        with self._lock:
            workspace, _, files, shortcut, layer, name = path.removeprefix("/onelake/").split("/")
            if (workspace, files, shortcut) != (self.id, "Files", "headwater") or not name:
                self.wrong.append(f"{method} {path}")
            if layer not in self.writable:
                return refusal(403, "AuthorizationPermissionMismatch", "No.")
            (self.files.add if method == "PUT" else self.files.remove)(path)
            self.written.append(f"{method} {layer}")
            return (201 if method == "PUT" else 200), None, {}

    def _judge(self, method: str, template: str, body: Any) -> None:
        area, model = _BODIES.get((method, template), ("", ""))
        assert (body is not None) == bool(model), f"{method} {template} accepts {model or 'no body'}"
        found = problems(body, model, area) if model else []
        assert not found, f"{method} {template}: {'; '.join(found)}"

    def _get_workspaces_one(self, *_: Any) -> Answer:
        return judged(200, self.workspace, "WorkspaceInfo")

    def _get_capacities(self, _: Any, query: dict[str, str], __: Any) -> Answer:
        return page([self.capacity], query, "Capacities")

    def _post_workspaces_provisionIdentity(self, *_: Any) -> Answer:  # noqa: N802 - the API's name
        if "workspaceIdentity" in self.workspace:
            return refusal(409, "UnknownError", "It has one.")
        self.workspace["workspaceIdentity"] = {
            "applicationId": str(uuid.uuid4()), "servicePrincipalId": str(uuid.uuid4())
        }  # fmt: skip
        return self._later()

    def _get_connections(self, _: Any, query: dict[str, str], __: Any) -> Answer:
        return page(self.connections, query, "ListConnectionsResponse")

    def _post_connections(self, _: Any, __: Any, body: Any) -> Answer:
        if any(each["displayName"] == body["displayName"] for each in self.connections):
            return refusal(409, "DuplicateConnectionName", "It is in use.")
        if "workspaceIdentity" not in self.workspace:
            return refusal(400, "InvalidCredentialDetails", "The workspace has no identity.")
        details = body["connectionDetails"]
        path = "/".join(each["value"] for each in details["parameters"])
        made = {
            "id": str(uuid.uuid4()), "displayName": body["displayName"], "connectivityType": body["connectivityType"],
            "connectionDetails": {"type": details["type"], "path": path}, "privacyLevel": body["privacyLevel"],
        }  # fmt: skip
        self.connections.append(made)
        return judged(201, made, "ShareableCloudConnection")

    def _get_workspaces_items(self, _: Any, query: dict[str, str], __: Any) -> Answer:
        return page(list(self.items.values()), query, "Items")

    def _post_workspaces_items(self, _: Any, __: Any, body: Any) -> Answer:
        if any(
            (each["displayName"], each["type"]) == (body["displayName"], body["type"]) for each in self.items.values()
        ):
            return refusal(409, "ItemDisplayNameAlreadyInUse", "It is in use.")
        item = {key: body[key] for key in ("displayName", "type", "description") if key in body}
        item |= {"id": str(uuid.uuid4()), "workspaceId": self.id}
        self.items[item["id"]] = item
        self.parts[item["id"]] = body.get("definition", {}).get("parts", [])
        self.shortcuts[item["id"]] = []
        return judged(201, item, "Item") if body["type"] == "Lakehouse" else self._later()

    def _patch_workspaces_items_one(self, named: dict[str, str], _: Any, body: Any) -> Answer:
        item = self.items[named["itemId"]]
        assert len(body["description"]) <= 256
        item |= body
        return judged(200, item, "Item")

    def _post_workspaces_items_updateDefinition(self, named: dict[str, str], _: Any, body: Any) -> Answer:  # noqa: N802
        self.parts[named["itemId"]] = body["definition"]["parts"]
        return self._later()

    def _get_workspaces_items_shortcuts(self, named: dict[str, str], query: dict[str, str], _: Any) -> Answer:
        return page(self.shortcuts[named["itemId"]], query, "Shortcuts")

    def _post_workspaces_items_shortcuts(self, named: dict[str, str], query: dict[str, str], body: Any) -> Answer:
        kept = self.shortcuts[named["itemId"]]
        same = [each for each in kept if (each["path"].strip("/"), each["name"]) == (body["path"], body["name"])]
        if same and query.get("shortcutConflictPolicy") != "CreateOrOverwrite":
            return refusal(409, "EntityConflict", "It is there.")
        made = {**body, "path": f"/{body['path']}", "target": {"type": "AdlsGen2", **body["target"]}}
        self.shortcuts[named["itemId"]] = [each for each in kept if each not in same] + [made]
        return judged(200 if same else 201, made, "Shortcut")

    def _post_workspaces_environments_staging_publish(self, named: dict[str, str], *_: Any) -> Answer:
        self.published.append(named["environmentId"])
        return self._later()

    def _get_workspaces_environments_one(self, named: dict[str, str], *_: Any) -> Answer:
        state = self.publishing.pop(0) if len(self.publishing) > 1 else self.publishing[0]
        found = {**self.items[named["environmentId"]], "properties": {"publishDetails": {"state": state}}}
        return judged(200, found, "Environment", "environment", {"retry-after": "0"})

    def _get_workspaces_dataPipelines_jobs_execute_schedules(self, _: Any, query: dict[str, str], __: Any) -> Answer:  # noqa: N802
        return page(self.schedules, query, "DataPipelineExecuteSchedules", "datapipeline")

    def _post_workspaces_dataPipelines_jobs_execute_schedules(self, _: Any, __: Any, body: Any) -> Answer:  # noqa: N802
        self.schedules.append({"id": str(uuid.uuid4()), **body})
        return judged(201, self.schedules[-1], "DataPipelineExecuteSchedule", "datapipeline")

    def _patch_workspaces_dataPipelines_jobs_execute_schedules_one(self, named: Any, _: Any, body: Any) -> Answer:  # noqa: N802
        schedule = next(each for each in self.schedules if each["id"] == named["scheduleId"])
        schedule |= body
        return judged(200, schedule, "DataPipelineExecuteSchedule", "datapipeline")

    def _delete_workspaces_dataPipelines_jobs_execute_schedules_one(self, named: Any, *_: Any) -> Answer:  # noqa: N802
        kept = [each for each in self.schedules if each["id"] != named["scheduleId"]]
        if len(kept) == len(self.schedules):
            return refusal(404, "EntityNotFound", "There is none.")
        self.schedules = kept
        return 200, None, {}

    def _get_operations_one(self, named: dict[str, str], *_: Any) -> Answer:
        states = self._operations[named["operationId"]]
        time = "2026-01-01T00:00:00Z"
        state = {"status": states.pop(0), "createdTimeUtc": time, "lastUpdatedTimeUtc": time}
        if state["status"] == "Failed":
            state["error"] = {"errorCode": "InvalidDefinition", "message": "A part of it is wrong."}  # type: ignore[assignment]
        return judged(200, state, "OperationState", headers={"retry-after": "0"})

    def _later(self, *states: str) -> Answer:
        """Accept a long-running operation, which succeeds at the third request for its state."""
        name = str(uuid.uuid4())
        self._operations[name] = list(states or ("NotStarted", "Running", "Succeeded"))
        # clients must not send a token to this address; ours uses only the id
        headers = {"location": f"https://elsewhere.example/{name}", "x-ms-operation-id": name, "retry-after": "0"}
        return 202, None, headers

    def fail_later(self) -> Answer:
        """Accept a long-running operation that fails."""
        return self._later("Running", "Failed")


def judged(status: int, value: Any, model: str, area: str = "core", headers: dict[str, str] | None = None) -> Answer:
    """Answer with a value, after checking that it matches Microsoft's model."""
    found = problems(value, model, area)
    assert not found, found
    return status, value, headers or {}


def page(values: list[dict[str, Any]], query: dict[str, str], model: str, area: str = "core") -> Answer:
    """Answer with one page of a list."""
    begin = int(query.get("continuationToken", "0"))
    found: dict[str, Any] = {"value": values[begin : begin + PAGE]}
    if begin + PAGE < len(values):
        found |= {"continuationToken": str(begin + PAGE), "continuationUri": "https://elsewhere.example/"}
    return judged(200, found, model, area)


def refusal(status: int, code: str, message: str, **headers: str) -> Answer:
    """Answer with an error."""
    return (
        status,
        {"errorCode": code, "message": message},
        {key.replace("_", "-"): text for key, text in headers.items()},
    )


@contextmanager
def running_fabric() -> Iterator[FabricServer]:
    """Run the stand-in. At the end, checks that it received no invalid request."""
    routes()  # load in advance: on a busy machine this takes longer than a client waits
    with FabricServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
    assert not server.wrong, Counter(server.wrong)


class _Handler(BaseHTTPRequestHandler):
    server: FabricServer

    def do_GET(self) -> None:
        self._do("GET")

    def do_POST(self) -> None:
        self._do("POST")

    def do_PUT(self) -> None:
        self._do("PUT")

    def do_PATCH(self) -> None:
        self._do("PATCH")

    def do_DELETE(self) -> None:
        self._do("DELETE")

    def _do(self, method: str) -> None:
        url = urlsplit(self.path)
        sent = self.rfile.read(int(self.headers.get("content-length") or 0))
        more: dict[str, str] = {}
        if url.path == "/token":
            status, said = 200, {"access_token": TOKEN, "expires_on": "4000000000", "resource": "r"}
        elif self.headers["authorization"] != f"Bearer {TOKEN}":
            status, said, more = refusal(401, "TokenExpired", "No.")
        elif url.path.startswith("/onelake/"):
            status, said, more = self.server.onelake(method, url.path)
        else:
            body = json.loads(sent) if sent else None
            status, said, more = self.server.answer(method, url.path, dict(parse_qsl(url.query)), body)
        content = json.dumps(said).encode() if said is not None else b""
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(content)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Do not log requests."""
