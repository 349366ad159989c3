"""Alerts reach people once: through rebuild, restore, reset, kill and a second instance, within limits of targets."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.common.failpoints import VARIABLE
from headwater.operations.backup import back_up
from headwater.operations.erasure.deletion import LakeMatches
from headwater.operations.erasure.search import TextTarget
from headwater.operations.restore import restore_backup
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.control.service import redrive_failures
from headwater.sinks.interface.shape import Outcome
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.running.runner import SinkRunner
from headwater.sinks.targets.alerts.slack import SlackWebhooks
from headwater.sinks.targets.alerts.station_state import Claim, StationState, decode_state, encode_state
from headwater.sinks.targets.alerts.target import AlertTarget, Message, message_text
from headwater.sinks.targets.alerts.teams import TeamsWorkflows
from headwater.sinks.targets.webhook.server import BrokenContract, ContractBreach
from tests.operations.test_backup import settings_of
from tests.sinks.test_alert_planning import NIGHT, Station, incident
from tests.sinks.test_webhook import SECRET, verify
from tests.support.commands import commanded
from tests.support.data.alert_world import PAGE, AlertWorld, alert_sink
from tests.support.data.sink_world import no_token
from tests.support.servers.alert_targets import (
    TOKEN,
    Slack,
    Teams,
    card_texts,
    content_problem,
    impatient_mail_server,
    mail_server,
    slack_server,
)
from tests.support.servers.loopback_certificate import loopback_certificate
from tests.support.servers.sink_target import Asked, Said, eventually, sink_server

pytestmark = pytest.mark.slow

DRIVER = """
import json, sys, threading
from pathlib import Path
from tests.support.data.alert_world import AlertWorld
from tests.support.data.sink_world import sink
folder, options, environment = sys.argv[1:]
AlertWorld(Path(folder)).runner(sink(**json.loads(options)), threading.Event(), json.loads(environment)).run()
"""
ENVIRONMENT = {"SLACK": TOKEN, "HOOK": SECRET, "PASSWORD": "password-of-a-user"}


class Case:
    """A lake, the server that is queried, Slack, and a sink to it that has made its first query."""

    def __init__(self, world: AlertWorld, queried: str, slack: Slack, *routes: Any) -> None:
        self.world, self.slack, self.queried = world, slack, queried
        self.given = {
            "token": {"env": "SLACK"},
            "api": f"{slack.server.url}/api",
            "routes": routes or [{"to": "#alerts"}],
        }
        self.out = alert_sink("slack", queried, **self.given)

    def query(self) -> None:
        """Start the sink, and let it work until it has nothing to do."""
        self.world.settle(self.out, ENVIRONMENT)

    def state(self) -> StationState:
        found = decode_state(self.world.ledger.stored_text("out"))
        assert found
        return found

    def titles(self) -> list[str]:
        return [each["blocks"][0]["text"]["text"] for each in self.slack.posted()]


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    world = AlertWorld(tmp_path / "data")
    with slack_server() as slack, world.queried() as queried:
        world.fail("past")
        found = Case(world, queried.url, slack)
        found.query()
        assert slack.messages == {}  # the first start on an old lake
        yield found


def test_an_incident_is_one_message_in_slack_whatever_happens_to_the_lake(case: Case, tmp_path: Path) -> None:
    world, slack = case.world, case.slack
    world.fail("load", ago_s=0)
    world.fail("filled", ago_s=30 * 86_400)  # a backfill
    slack.throttled = 1
    case.query()
    (message,) = slack.posted()
    texts = [block["text"]["text"] for block in message["blocks"]]
    assert (message["channel"], texts[0]) == ("C01", "Run failed: load")
    assert "load is &lt;broken&gt; &amp; &lt;!channel&gt;" in texts[2]
    assert texts[-1].startswith(f"<{PAGE}/run?id=")
    case.query()  # a restart
    world.rebuild()
    case.query()
    world.ledger.reset("out", {})
    case.query()
    assert len(slack.messages) == 1
    back_up(world.settings, tmp_path / "backup")
    world.fail("load", ago_s=0, kind="COMPLETE")
    world.fail("after", ago_s=0)
    case.query()
    assert case.titles() == ["Resolved: Run failed: load", "Run failed: after"]
    (reply,) = slack.posted(replies=True)
    assert (reply["thread_ts"], slack.edits) == (next(iter(slack.messages)), 1)

    restore_backup(settings_of(tmp_path / "copy"), tmp_path / "backup")
    restored = AlertWorld(tmp_path / "copy")
    restored.fail("after", ago_s=60)  # producers send again what came after the backup
    restored.fail("load", ago_s=30, kind="COMPLETE")
    with restored.queried() as queried:
        after = Case(restored, queried.url, slack)
        after.query()
        assert (len(slack.messages), slack.edits) == (3, 1)
        restored.fail("later", ago_s=0)
        after.query()
    assert after.titles()[2:] == ["Run failed: later"]


def test_two_instances_send_a_message_once(case: Case) -> None:
    world, slack, runners = case.world, case.slack, list[SinkRunner]()
    answer, waited = slack.server.answer, list[Asked]()

    def answer_when_both_try(asked: Asked) -> Said:
        if not waited:
            waited.append(asked)
            eventually(lambda: any("another instance is sending" in (each.status.trouble or "") for each in runners))
        return answer(asked)

    for number in range(3):
        world.fail(f"job{number}", ago_s=0)
    slack.server.answer = answer_when_both_try
    with world.running(case.out, ENVIRONMENT) as first, world.running(case.out, ENVIRONMENT) as second:
        runners += [first, second]
        eventually(lambda: len(slack.messages) >= 3)
        eventually(lambda: {first.status.state, second.status.state} == {"caught up"})
    assert sorted(case.titles()) == [f"Run failed: job{number}" for number in range(3)]


def test_a_kill_between_sending_and_storing_repeats_one_message(case: Case) -> None:
    """At least once: the other order would lose the message if the kill came before the target had it."""
    case.world.fail("load", ago_s=0)
    given = {"type": "slack", "headwater": {"url": case.queried, "every": "1h"}, **case.given}
    arguments = [str(case.world.folder), json.dumps(given), json.dumps(ENVIRONMENT)]
    killed = subprocess.run(
        [sys.executable, "-c", DRIVER, *arguments], env={VARIABLE: "alerts.sent:1", "PYTHONPATH": "."}, timeout=60,
        check=False,
    )  # fmt: skip
    assert (killed.returncode, len(case.slack.posted())) == (-9, 1)
    text, claimed = case.world.ledger.stored_text("out"), case.state()
    assert claimed.claim
    ended = msgspec.structs.replace(claimed, claim=Claim(claimed.claim.owner, 0))  # after two minutes
    assert case.world.ledger.replace_stored_text("out", text, encode_state(ended))
    case.query()
    case.query()
    assert case.titles() == ["Run failed: load"] * 2


def test_a_channel_that_refuses_is_a_dead_letter_and_holds_up_no_other(case: Case) -> None:
    both = Case(case.world, case.queried, case.slack, {"to": ["#finance", "#alerts"]})
    case.slack.refuses = {"#finance": "not_in_channel"}
    case.world.fail("load", ago_s=0)
    both.query()
    both.query()
    (row,) = case.world.ledger.failures("out", 10)
    assert "Slack: not_in_channel" in row["reason"]
    assert case.titles() == ["Run failed: load"]
    case.slack.refuses = {}
    with closing(open_sink(both.out, Secrets(no_token, ENVIRONMENT).reveal)) as target:
        counted = redrive_failures(case.world.bronze, case.world.ledger, both.out, target)
    assert counted == {"delivered": 1, "refused": 0, "gone": 0}
    assert [each["channel"] for each in case.slack.posted()] == ["C01", "C02"]

    case.slack.refuses = {"C01": "is_archived"}  # the end
    case.world.fail("load", ago_s=0, kind="COMPLETE")
    both.query()
    both.query()
    (row,) = case.world.ledger.failures("out", 10)
    case.slack.refuses = {}
    edits = case.slack.edits
    with closing(open_sink(both.out, Secrets(no_token, ENVIRONMENT).reveal)) as target:
        assert isinstance(target, AlertTarget)
        target.use_store(case.world.ledger.target_store("out"))
        counted = redrive_failures(case.world.bronze, case.world.ledger, both.out, target)
    assert (counted, case.slack.edits) == ({"delivered": 1, "refused": 0, "gone": 0}, edits + 1)
    assert len(case.slack.posted(replies=True)) == 1


def test_a_claim_of_a_clock_that_was_ahead_holds_up_nothing(case: Case) -> None:
    ahead = Claim("another", time.time_ns() // 1000 + 10 * 86_400_000_000)
    text, claimed = case.world.ledger.stored_text("out"), msgspec.structs.replace(case.state(), claim=ahead)
    assert case.world.ledger.replace_stored_text("out", text, encode_state(claimed))
    case.world.fail("load", ago_s=0)
    case.query()
    assert case.titles() == ["Run failed: load"]


def test_names_that_are_erased_reach_no_one_afterwards(case: Case) -> None:
    world, target = case.world, TextTarget("text", "etl")
    world.fail("load", ago_s=0)
    case.query()
    LakeMatches(world.bronze, world.ledger, target).erase_rows()
    world.rebuild()
    case.query()
    assert case.titles() == ["No longer listed: an incident whose name was erased"]
    assert "load" not in str(world.ledger.stored_text("out"))


def test_teams_mail_and_webhooks_get_an_incident_and_its_end(tmp_path: Path) -> None:
    world, teams, certificate = AlertWorld(tmp_path / "data"), Teams(throttled=1), loopback_certificate(tmp_path)
    with (
        world.queried() as queried, slack_server() as slack, sink_server() as workflow, sink_server() as hook,
        mail_server(certificate, "user", ENVIRONMENT["PASSWORD"]) as mailbox,
    ):  # fmt: skip
        workflow.answer = teams.answer
        address = "/workflows/abc/triggers/manual/paths/invoke?api-version=1&sig=secret-of-a-workflow"
        secrets = ENVIRONMENT | {
            "TEAMS": workflow.url + address, "WEBHOOK": f"{slack.server.url}/services/T1/B1/secret-of-a-webhook",
        }  # fmt: skip
        to = {"routes": [{"to": "one"}]}
        out: dict[str, dict[str, Any]] = {
            "slack": {"urls": {"one": {"env": "WEBHOOK"}}, **to},
            "teams": {"urls": {"one": {"env": "TEAMS"}}, **to},
            "email": {
                "server": "127.0.0.1", "port": mailbox.port, "ca": str(certificate), "sender": "headwater@example.org",
                "user": "user", "password": {"env": "PASSWORD"}, "routes": [{"to": ["a@example.org", "b@example.org"]}],
            },
            "incident-webhook": {"url": hook.url, "secret": {"env": "HOOK"}},
        }  # fmt: skip
        sinks = [alert_sink(kind, queried.url, **given)._replace(name=kind) for kind, given in out.items()]
        mailbox.refuses = {"b@example.org": "550 no such user"}
        for end in (None, "FAIL", "COMPLETE"):
            if end:
                world.fail("load", ago_s=0, kind=end)
            for each in sinks:
                world.settle(each, secrets)
    title = "Run failed: load"
    assert [each["blocks"][0]["text"]["text"] for each in slack.posted()] == [title, f"Resolved: {title}"]
    assert [card_texts(card)[0] for card in teams.cards] == [title, f"Resolved: {title}"]
    assert "load is <broken> & <!channel>" in card_texts(teams.cards[0])
    check_thread(mailbox.mails, title)
    assert [row["reason"] for row in world.ledger.failures("email", 9)] == ["SMTP status 550: no such user"]
    opened, resolved = hook.taken
    assert [each["type"] for each in (opened, resolved)] == ["incident.opened", "incident.resolved"]
    assert opened["data"]["incident"]["id"] == resolved["data"]["incident"]["id"]
    assert verify(
        json.dumps(hook.asked[0].events[0], separators=(",", ":")).encode(), {**hook.asked[0].headers}, SECRET
    )


def test_a_recipient_that_asks_to_try_later_gets_the_mail_later(tmp_path: Path) -> None:
    world, certificate = AlertWorld(tmp_path / "data"), loopback_certificate(tmp_path)
    with world.queried() as queried, mail_server(certificate, "user", ENVIRONMENT["PASSWORD"]) as mailbox:
        out = alert_sink(
            "email", queried.url, server="127.0.0.1", port=mailbox.port, ca=str(certificate), user="user",
            password={"env": "PASSWORD"}, sender="headwater@example.org",
            routes=[{"to": ["a@example.org", "b@example.org"]}],
        )  # fmt: skip
        world.fail("past", ago_s=600)
        mailbox.refuses = {"b@example.org": "450 greylisted, try again later"}
        with closing(open_sink(out, Secrets(no_token, ENVIRONMENT).reveal)) as target:
            assert isinstance(target, AlertTarget)
            target.use_store(world.ledger.target_store("out"))
            now_us = time.time_ns() // 1000
            assert target.new_payloads(now_us - 60_000_000) == []
            world.fail("load", ago_s=0)

            def deliver(after_s: int) -> list[str]:
                payloads = target.new_payloads(now_us + after_s * 1_000_000)
                for each in payloads:
                    assert target.deliver([each]) == Outcome()
                target.settle(payloads)
                return [str(each["To"]) for each in mailbox.mails]

            assert deliver(1) == ["a@example.org"]
            mailbox.refuses = {}
            assert deliver(60) == ["a@example.org"]
            assert deliver(400) == ["a@example.org", "b@example.org"]
            assert deliver(800) == ["a@example.org", "b@example.org"]


def test_a_mail_is_accepted_although_the_server_closes_the_connection_at_its_end() -> None:
    given = {"server": "127.0.0.1", "sender": "headwater@example.org", "security": "none"}
    routes = [{"to": ["a@example.org"]}]
    with impatient_mail_server() as (port, mails):
        out = alert_sink("email", "http://127.0.0.1:1", port=port, routes=routes, **given)
        with closing(open_sink(out, Secrets(no_token, {}).reveal)) as target:
            assert isinstance(target, AlertTarget)
            target.send_test()
    assert len(mails) == 1


def check_thread(mails: list[EmailMessage], title: str) -> None:
    first, second = mails
    assert [each["Subject"] for each in mails] == [title, f"Re: {title}"]
    assert first["Message-ID"] == second["In-Reply-To"] == second["References"] != second["Message-ID"]
    text = first.get_content()
    assert "load is <broken> & <!channel>" in text
    assert f"{PAGE}/run?id=" in text


def test_the_largest_and_most_hostile_message_fits_each_target() -> None:
    nasty = "<!channel> & [x](http://evil) ```\r\nBcc: x@evil\u202e<" * 400
    dataset = {"namespace": "s3://n", "dataset": nasty, "distance": 0}
    found = incident(
        "a", summary=nasty, error={"message": nasty, "frame": nasty}, affected=[dataset] * 100, affectedCount=100,
        owners=[{"name": nasty, "type": None}] * 50, subject={"kind": "dataset", "namespace": "s3://n", "name": nasty},
    )  # fmt: skip
    contract = BrokenContract(nasty, nasty, None, "broken", [ContractBreach("k", nasty, None, nasty, None, None, None)])
    station = Station(max_per_hour=2)
    due = station.query(NIGHT, found, *(incident(nasty + str(n), id=str(n)) for n in range(100)))
    assert [each.kind for each in due] == ["opened", "summary"]
    for each in due:
        message = Message(each, message_text(each, [contract] * 20, PAGE), PAGE)
        assert content_problem(json.loads(SlackWebhooks({}).render(message))) is None
        card = TeamsWorkflows({}).render(message)
        assert len(card) <= 20_000
        Teams().check_card(json.loads(card)["attachments"][0]["content"])
        assert "\n" not in message.text.title + message.text.summary
        assert "\u202e" not in card.decode()


def test_commands_check_preview_and_send_a_test(case: Case) -> None:
    folder = case.world.folder
    out = {"type": "slack", "headwater": {"url": case.queried}, "page": PAGE, **case.given}
    file = {"version": 1, "sinks": {"out": out}}
    (folder / "sinks.yml").write_text(json.dumps(file))

    def sinks(*arguments: str) -> str:
        done = commanded("sinks", *arguments, "--data", folder, environment=ENVIRONMENT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    wrong = commanded("sinks", "check", "out", "--data", folder, environment=ENVIRONMENT | {"SLACK": "wrong"})
    assert (wrong.returncode != 0, "invalid_auth" in wrong.stderr) == (True, True)
    case.world.fail("load", ago_s=0)
    assert "2 incidents of the last day, 2 with a route; the token belongs to the workspace Example" in " ".join(
        sinks("check", "out").split()
    )
    items = json.loads(sinks("preview", "out", "now", "--json"))["items"]
    assert sorted(item["unfit"] or "" for item in items) == ["", "opened before the time from which this sink sends"]
    assert case.slack.messages == {}
    sinks("test", "out")
    assert case.titles() == ["Test message of Headwater"]
    case.query()
    sent = [json.loads(item["payload"])["blocks"] for item in items if item["unfit"] is None]
    assert [each["blocks"] for each in case.slack.posted()][1:] == sent
    one = json.loads(sinks("preview", "out", case.state().entries[0].incident, "--json"))["items"]
    assert [item["unfit"] for item in one] == ["already sent"]
