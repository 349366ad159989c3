"""Sinks to S3: files, DataHub's proposals, and a Delta table with two concurrent writers. S3 is emulated by moto."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from headwater.common.errors import Retry, WrongSetting
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.interface.target_registry import open_sink
from tests.support.data.sink_world import SinkWorld, bodies, events, no_token, payloads, sink
from tests.support.servers.s3 import REGION, S3Server
from tests.support.servers.sink_target import eventually

pytestmark = pytest.mark.slow

SECRET = "a-very-secret-key"
KNOWN = {"KEY": SECRET}


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server.start()


def opened(**options: Any) -> Any:
    return closing(open_sink(sink(**options), Secrets(no_token, KNOWN).reveal))


def test_a_folder_is_waited_for_and_then_holds_every_event_in_whole_files(tmp_path: Path) -> None:
    world, made = SinkWorld(tmp_path / "data"), events(5)
    world.store(*bodies(made))
    with S3Server() as late:
        address = "s3://lineage/in/here/"
        out = sink(type="file", folder=address, options=late.options({"env": "KEY"}), every="10ms")
        with world.running(out, KNOWN) as runner:
            eventually(lambda: runner.status.trouble)
            assert "the store cannot be reached, or did not answer in time" in (runner.status.trouble or "")
            late.start().client().create_bucket(
                Bucket="lineage", CreateBucketConfiguration={"LocationConstraint": REGION}
            )
            eventually(lambda: runner.status.state == "caught up")
        files = late.files("lineage")
        assert all(name.startswith("in/here/2") and name.endswith(".ndjson") for name in files)
        texts = [text for _, text in sorted(files.items())]
        assert [json.loads(line) for text in texts for line in text.splitlines()] == made


def test_a_folder_is_checked_and_mistakes_are_named(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, options = s3.bucket(), s3.options({"env": "KEY"})
    with opened(type="file", folder=f"s3://{bucket}", options=options) as target:
        assert target.check() == f"s3://{bucket} can be written"
        assert s3.files(bucket) == {}
        target.deliver(payloads(["a"]))
        assert [*s3.files(bucket).values()] == [b"xx\n"]
    with opened(type="file", folder="s3://no-such-bucket/a", options=options) as target:
        outcome = target.deliver(payloads(["a"]))
        assert (outcome.again, "the bucket does not exist (404)" in outcome.trouble) == (range(1), True)
        with pytest.raises(Retry, match="Create it, or correct `folder`"):
            target.check()
    with pytest.raises(WrongSetting, match=r"Unknown option 'region' of s3://b\. Known options: aws_region"):
        opened(type="file", folder="s3://b", options={"region": REGION})
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bare = {"aws_region": REGION, "aws_endpoint_url": s3.url}
    with (
        opened(type="file", folder=f"s3://{bucket}", options=bare) as target,
        pytest.raises(Retry, match="no AWS credentials were found"),
    ):
        target.check()


def test_datahubs_proposals_lie_in_files_of_a_bucket_and_a_repeat_is_the_same_file(
    tmp_path: Path, s3: S3Server
) -> None:
    world, made, bucket = SinkWorld(tmp_path / "data"), events(3), s3.bucket()
    world.store(*bodies(made))
    told = {
        "s3.bucket": bucket, "s3.prefix": "metadata", "s3.endpoint": s3.url, "s3.region": REGION,
        "s3.access_key": "someone", "s3.secret_key": {"env": "KEY"},
    }  # fmt: skip
    here = sink(type="datahub", emitter="file", every="10ms", **{"file.filename": str(tmp_path / "all.json")})
    world.settle(here)
    world.ledger.reset("out", {})
    out = sink(type="datahub", emitter="s3", every="10ms", **told)
    world.settle(out, KNOWN)
    files = s3.files(bucket)
    assert all(name.startswith("metadata/") and name.endswith(".json") for name in files)
    found = [each for _, text in sorted(files.items()) for each in json.loads(text)]
    assert found == json.loads((tmp_path / "all.json").read_text())
    assert found
    world.ledger.reset("out", {})
    world.settle(out, KNOWN)
    assert s3.files(bucket) == files
    with pytest.raises(WrongSetting, match=r"needs s3\.bucket"):
        sink(type="datahub", emitter="s3")


def test_a_delta_table_that_two_sinks_write_at_once_has_every_run_once(tmp_path: Path, s3: S3Server) -> None:
    worlds = [SinkWorld(tmp_path / name) for name in ("one", "two")]
    made = [events(3, eventType="COMPLETE") for _ in worlds]
    options = s3.options({"env": "KEY"}) | {"aws_allow_http": "true"}
    out = sink(type="delta", table=f"s3://{s3.bucket()}/runs", options=options, every="10ms")
    for world, some in zip(worlds, made, strict=True):
        world.store(*bodies(some))
    threads = [threading.Thread(target=world.settle, args=(out, KNOWN)) for world in worlds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for world in worlds:
        world.ledger.reset("out", {})
        world.settle(out, KNOWN)
    table = DeltaTable(out.options.table, storage_options=options | {"aws_secret_access_key": SECRET})  # type: ignore[attr-defined]
    rows = table.to_pyarrow_table().column("run_id").to_pylist()
    assert sorted(rows) == sorted(event["run"]["runId"] for some in made for event in some)
