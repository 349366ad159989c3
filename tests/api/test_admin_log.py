"""Admin actions are recorded in the lake and returned on request, and secrets in their texts are redacted."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deltalake import DeltaTable

from headwater.common.errors import HeadwaterError
from headwater.common.paging import ListPage
from headwater.lake.admin_log import Actor, AdminRecorder, admin_rows, open_admin_log, record_admin


def test_an_act_is_kept_with_who_what_and_from_where(tmp_path: Path) -> None:
    log = open_admin_log(str(tmp_path))
    assert admin_rows(log, ListPage()).rows == []
    record_admin(log, Actor("mary", "10.0.0.7", "curl/8"), "keys add", "spark-prod", detail="roles write")
    record_admin(log, Actor("ops@host"), "forget", "dataset lake/customers", outcome="failed")
    found = admin_rows(open_admin_log(str(tmp_path)), ListPage(limit=1))
    assert (found.total, found.next is None) == (2, False)
    assert [(row["who"], row["action"], row["outcome"]) for row in found.rows] == [("ops@host", "forget", "failed")]
    earlier = admin_rows(log, ListPage()).rows[1]
    assert (earlier["subject"], earlier["detail"], earlier["address"], earlier["agent"]) == (
        "spark-prod",
        "roles write",
        "10.0.0.7",
        "curl/8",
    )


def test_a_secret_in_an_acts_words_is_not_kept(tmp_path: Path) -> None:
    log = open_admin_log(str(tmp_path))
    record_admin(log, Actor("mary", agent="x password=hunter2hunter2"), "tag", "t", detail="token=ghp_" + "a1B2" * 9)
    found = str(admin_rows(log, ListPage(limit=1)))
    assert "hunter2" not in found
    assert "a1B2" not in found


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    record_admin(open_admin_log(str(tmp_path)), Actor("first"), "tag", "t")

    def act(who: str) -> None:
        for number in range(3):
            record_admin(open_admin_log(str(tmp_path)), Actor(who), "tag", str(number))

    threads = [threading.Thread(target=act, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert admin_rows(open_admin_log(str(tmp_path)), ListPage()).total == 13


@pytest.mark.slow
def test_acts_that_come_together_are_one_commit_and_each_is_written_when_it_returns(tmp_path: Path) -> None:
    table = open_admin_log(str(tmp_path))
    recorder, acts = AdminRecorder(table), 40

    def act(number: int) -> bool:
        recorder.record(Actor("mary"), "tag", str(number), "done", "")
        return str(number) in {row["subject"] for row in admin_rows(open_admin_log(str(tmp_path)), ListPage()).rows}

    with ThreadPoolExecutor(acts) as threads:
        assert all(threads.map(act, range(acts)))
    assert admin_rows(table, ListPage()).total == acts
    assert DeltaTable(table.uri).version() < acts / 2


def test_a_lake_that_is_away_is_told_to_each_who_acts(tmp_path: Path) -> None:
    (tmp_path / "admin").write_text("no folder")
    recorder = AdminRecorder(open_admin_log(str(tmp_path)))

    def act(number: int) -> str:
        with pytest.raises(HeadwaterError) as refused:
            recorder.record(Actor("mary"), "tag", str(number), "done", "")
        return str(refused.value)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(act, range(4)))
