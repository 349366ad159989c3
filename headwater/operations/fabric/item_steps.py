"""Create and update the items of a workspace, and publish the environment."""

from collections.abc import Mapping
from typing import Any

from headwater.common.errors import Retry
from headwater.operations.fabric.fabric_refusals import ALREADY_EXISTS, FabricRefusal
from headwater.operations.fabric.items import ENVIRONMENT, LAKEHOUSE, Item, is_ours
from headwater.operations.fabric.rest import Fabric
from headwater.operations.fabric.steps import StepState, WorkspaceStep

_ROLE = "needs a Contributor of the workspace, and the tenant setting *Users can create Fabric items*"
_BUSY = ("Waiting", "Running", "Cancelling")
_NOT_OURS = "it was not created by Headwater, and its content is replaced"


class Workspace:
    """The items of one workspace; the list is read once, and again after each creation."""

    def __init__(self, fabric: Fabric, workspace: str) -> None:
        self._fabric = fabric
        self._path = f"/workspaces/{workspace}"
        self._items: dict[tuple[str, str], dict[str, Any]] | None = None

    def find(self, item: Item) -> dict[str, Any] | None:
        """Return an item as it appears in the list of items."""
        if self._items is None:
            listed = self._fabric.list_all(f"{self._path}/items")
            self._items = {(each["type"], each["displayName"]): each for each in listed}
        return self._items.get((item.kind, item.name))

    def step(self, item: Item) -> WorkspaceStep:
        """Compare an item with our definition of it."""
        found = self.find(item)
        if item.kind == LAKEHOUSE:
            if found:
                return WorkspaceStep(item.title, StepState.THERE, found["id"])
            return WorkspaceStep(item.title, StepState.MISSING, _ROLE, lambda: self._put_empty(item))
        if found and found.get("description") == item.mark():
            return WorkspaceStep(item.title, StepState.THERE, found["id"])
        note = _ROLE if found is None else "" if is_ours(found.get("description")) else _NOT_OURS
        return WorkspaceStep(
            item.title, StepState.DIFFERS if found else StepState.MISSING, note, lambda: self._put(item)
        )

    def _put_empty(self, item: Item) -> None:
        self._make(item)

    def _put(self, item: Item) -> None:
        """Create an item or replace its content, then mark it; without a mark it is replaced later."""
        found = self.find(item) or self._make(item)
        place = f"{self._path}/items/{found['id']}"
        if not found.get("made"):
            self._fabric.post(f"{place}/updateDefinition", {"definition": item.definition()})
        if item.kind == ENVIRONMENT:
            self._fabric.post(f"{self._path}/environments/{found['id']}/staging/publish?beta=false")
            self._await_published(found["id"])
        self._fabric.patch(place, {"displayName": item.name, "description": item.mark()})

    def _make(self, item: Item) -> dict[str, Any]:
        body: dict[str, Any] = {"displayName": item.name, "type": item.kind, "description": item.description}
        made: Mapping[str, Any] = {"made": True}
        try:
            self._fabric.post(f"{self._path}/items", body | ({"definition": item.definition()} if item.parts else {}))
        except FabricRefusal as error:
            if error.code not in ALREADY_EXISTS:
                raise
            made = {}
        self._items = None
        found = self.find(item)
        if found is None:
            raise Retry(f"Fabric has created {item.title} but does not list it yet. Run the same command again.")
        return {**found, **made}

    def _await_published(self, environment: str) -> None:
        found = self._fabric.wait_until(
            f"{self._path}/environments/{environment}", lambda each: _state(each) not in _BUSY
        )
        if (state := _state(found)) != "Success":
            raise Retry(
                f"Publishing the environment ended with {state!r}. Check in Fabric which library it names, then "
                "run the same command again."
            )


def _state(environment: Mapping[str, Any]) -> str:
    return str(environment.get("properties", {}).get("publishDetails", {}).get("state", "Waiting"))
