"""Forgotten text of a lake in cloud storage is in no blob any more."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from azure.storage.blob import ContainerClient

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.operations.erasure.request import ForgetRequest
from headwater.operations.erasure.search import TextTarget
from headwater.operations.runtime.index import open_view_opener
from headwater.operations.settings import load_settings
from tests.support.data.made_events import run_event
from tests.support.data.parsing import World, event
from tests.support.servers.azurite import KEY, Storage

pytestmark = pytest.mark.slow

WHO = "anna.muster@example.org"
WANTED = TextTarget("text", WHO)


def said_in(container: ContainerClient) -> list[str]:
    """Return the blobs that contain the text, read without Headwater's code."""
    return [name for name in container.list_blob_names() if WHO in _text(name, container)]


def _text(name: str, container: ContainerClient) -> str:
    content = container.download_blob(name).readall()
    rows = pq.read_table(pa.BufferReader(content)).to_pylist() if name.endswith(".parquet") else []
    return content.decode("utf-8", "replace") + json.dumps(rows, default=str)


def test_a_text_is_in_no_blob_afterwards_the_storage_failing_in_between(storage: Storage, tmp_path: Path) -> None:
    container = storage.container()
    world = World(tmp_path, **storage.lake(container.container_name, account_key=KEY))
    owner = {"ownership": {"_producer": "p", "_schemaURL": "s", "owners": [{"name": WHO}]}}
    for body in (event(1), json.dumps(run_event(job={"namespace": "n", "name": "j", "facets": owner})).encode()):
        world.append(body)
        world.parser().commit_next()
    container.upload_blob("a/lake/silver/g1/_delta_log/left.json", json.dumps({"owner": WHO}))
    open_view_opener(world.settings, world.folder).close()
    world.append(json.dumps(run_event(job={"namespace": "n", "name": WHO})).encode())  # the event is still in the log
    assert len(said_in(container)) > 2
    forgetting = ForgetRequest(world.settings, WANTED)
    assert forgetting.dry_run()["found"] | {"events": 1, "files of silver and gold": 1} == forgetting.dry_run()["found"]
    with pytest.raises(WrongSetting, match="--stopped"):
        forgetting.forget()
    with storage.failing("broken", "comp=batch"), pytest.raises(LakeUnavailable):
        forgetting.forget(stopped=True)
    done = ForgetRequest(world.settings, WANTED).forget(stopped=True)
    assert (done["state"], done["proof"]["found"], done["found"]["events"]) == ("done", 0, 2)
    assert said_in(container) == []
    receipts = [
        json.loads(container.download_blob(name).readall())
        for name in container.list_blob_names(name_starts_with="a/lake/forgotten/")
    ]
    assert receipts == [done]
    assert any("soft delete" in left for left in done["left"])
    assert world.sequences("events") == [1]
    assert world.audit() | {"stored": 1, "removed": 2, "balanced": True} == world.audit()
    world.append(event(2))
    world.parser().commit_next()
    assert world.sequences("events") == [1, 4]


def test_without_the_log_that_feeds_the_lake_nothing_is_erased(storage: Storage, tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path, **storage.lake(account_key=KEY)})[0]
    with pytest.raises(WrongSetting, match="has no log of"):
        ForgetRequest(settings, WANTED).forget(stopped=True)
