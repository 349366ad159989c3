"""Deliver one batch to a target that refuses, fails and recovers: the attempts, the dead letters, and the timing."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from headwater.common.http_connection import retry_after_s
from headwater.sinks.interface.shape import Outcome, Payload, SinkEvent, retry_all, unchanged_payloads
from headwater.sinks.running.delivery import (
    ATTEMPT_BYTES,
    CIRCUIT_OPEN_AFTER,
    MAX_RETRY_AFTER_S,
    MAX_TRIES,
    MAX_WAIT_S,
    Delivery,
    DeliveryPace,
)
from tests.support.data.sink_world import payloads

Answers = Callable[[list[str]], Outcome]


class Scripted:
    """A target with scripted answers. `attempts` are the names that it received."""

    def __init__(self, answers: Answers, largest: int = 8) -> None:
        self.largest = largest
        self.attempts: list[list[str]] = []
        self._answers = answers

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        return unchanged_payloads(events)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        self.attempts.append([payload.event.head.event_id for payload in payloads])
        return self._answers(self.attempts[-1])

    def check(self) -> str:
        return "it is a script"

    def close(self) -> None:
        pass


def deliver(target: Scripted, names: str, most: int = 1000) -> tuple[Delivery, list[float]]:
    """Attempt delivery until it is done, or `most` times. Returns the waits between attempts in seconds."""
    delivery = Delivery(target, DeliveryPace())
    delivery.add(payloads(names))
    waits: list[float] = []
    while not delivery.is_done and len(waits) < most:
        waits.append(delivery.attempt_delivery())
    return delivery, waits


def refused(delivery: Delivery) -> list[str]:
    return [each.payload.event.head.event_id for each in delivery.refused]


def poisoned(poison: str) -> Answers:
    """Fail each attempt that contains one of these events, as a server that answers 500 does."""
    return lambda names: retry_all(len(names), "status 500", blames_event=True) if {*names} & {*poison} else Outcome()


def test_what_goes_through_goes_once_and_in_order() -> None:
    target = Scripted(lambda _: Outcome(), largest=3)
    delivery, waits = deliver(target, "abcdefgh")
    assert target.attempts == [["a", "b", "c"], ["d", "e", "f"], ["g", "h"]]
    assert (delivery.delivered, delivery.refused, waits) == (8, [], [0.0, 0.0, 0.0])


def test_what_a_target_refuses_by_name_is_given_up_at_once_and_holds_up_nothing() -> None:
    target = Scripted(lambda names: Outcome(refused={names.index("c"): "no run"} if "c" in names else {}))
    delivery, _ = deliver(target, "abcdef")
    assert len(target.attempts) == 1
    assert [(each.payload.event.head.event_id, each.reason, each.attempts) for each in delivery.refused] == [
        ("c", "no run", 1)
    ]
    assert delivery.delivered == 5


@pytest.mark.parametrize("poison", ["a", "d", "h", "adh", "abc"])
def test_what_a_target_fails_at_is_found_by_halves_and_given_up_only_beside_others_it_takes(poison: str) -> None:
    target = Scripted(poisoned(poison), largest=8)
    delivery, _ = deliver(target, "abcdefghz")
    assert refused(delivery) == sorted(poison)
    assert delivery.delivered == 9 - len(poison)
    taken = [names for names in target.attempts if not {*names} & {*poison}]
    assert sorted({name for names in taken for name in names}) == sorted({*"abcdefghz"} - {*poison})


def test_a_target_that_fails_at_everything_is_waited_for_and_nothing_is_given_up() -> None:
    broken = True
    target = Scripted(lambda names: retry_all(len(names), "status 500", blames_event=True) if broken else Outcome())
    delivery = Delivery(target, DeliveryPace())
    delivery.add(payloads("abcd"))
    for _ in range(200):
        delivery.attempt_delivery()
    assert (delivery.refused, delivery.delivered, delivery.trouble) == ([], 0, "status 500")
    broken = False
    while not delivery.is_done:
        delivery.attempt_delivery()
    assert (delivery.refused, delivery.delivered) == ([], 4)


@pytest.mark.parametrize("last", ["a", "ab"])
def test_the_last_payloads_are_never_given_up_for_a_failure_but_ask_for_another_one(last: str) -> None:
    target = Scripted(poisoned(last))
    delivery, _ = deliver(target, last, most=50)
    assert (delivery.refused, delivery.needs_probe) == ([], True)
    delivery.add(payloads("yz"))
    while not delivery.is_done:
        delivery.attempt_delivery()
    assert (refused(delivery), delivery.delivered) == ([*last], 2)
    assert delivery.refused[0].attempts >= MAX_TRIES
    assert "status 500" in delivery.refused[0].reason


def test_a_target_that_is_away_is_waited_for_ever_longer_and_asked_with_one_payload_alone() -> None:
    away = Scripted(lambda names: retry_all(len(names), "no answer"), largest=8)
    delivery, waits = deliver(away, "abcdefgh", most=20)
    assert delivery.refused == []
    assert [len(names) for names in away.attempts[CIRCUIT_OPEN_AFTER:]] == [1] * (20 - CIRCUIT_OPEN_AFTER)
    assert all(names[0] == "a" for names in away.attempts)
    assert all(later > earlier / 2 for earlier, later in pairwise(waits))
    assert MAX_WAIT_S / 2 <= waits[-1] <= MAX_WAIT_S


def test_sinks_that_failed_together_do_not_come_back_together() -> None:
    assert len({DeliveryPace().wait_after_fault_s(0.0) for _ in range(20)}) > 15


def test_a_targets_wish_is_granted_but_not_for_ever() -> None:
    assert DeliveryPace().wait_after_fault_s(120.0) == 120.0
    assert DeliveryPace().wait_after_fault_s(1e9) == MAX_RETRY_AFTER_S


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7, 7), ("", 0, 0), ("soon", 0, 0), ("-1", 0, 0), ("99999999999", 0, 0),
        ("Fri, 31 Dec 2199 23:59:59 GMT", 1e9, 1e10), ("Mon, 01 Jan 2001 00:00:00 GMT", 0, 0),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(header: str, least: float, most: float) -> None:
    assert least <= retry_after_s({"retry-after": header}) <= most


def test_only_what_a_batchs_answer_names_is_sent_again() -> None:
    answers = [Outcome(refused={0: "bad"}, again=(2, 3), trouble="busy", blames_event=True), Outcome()]
    target = Scripted(lambda _: answers.pop(0))
    delivery, _ = deliver(target, "abcd")
    assert target.attempts == [["a", "b", "c", "d"], ["c", "d"]]
    assert (refused(delivery), delivery.delivered) == (["a"], 3)


def test_an_attempt_is_no_larger_than_a_target_can_be_asked_to_take_at_once() -> None:
    target = Scripted(lambda _: Outcome(), largest=100)
    delivery = Delivery(target, DeliveryPace())
    delivery.add(payloads("abcde", size=ATTEMPT_BYTES // 2))
    delivery.add(payloads("f", size=ATTEMPT_BYTES * 3))
    while not delivery.is_done:
        delivery.attempt_delivery()
    assert target.attempts == [["a", "b"], ["c", "d"], ["e"], ["f"]]


def test_a_rate_is_kept_between_attempts() -> None:
    delivery = Delivery(Scripted(lambda _: Outcome(), largest=4), DeliveryPace(rate=2.0))
    delivery.add(payloads("abcdef"))
    assert [delivery.attempt_delivery(), delivery.attempt_delivery()] == [2.0, 1.0]


def test_what_is_unfit_is_refused_without_an_attempt() -> None:
    target = Scripted(lambda _: Outcome())
    delivery = Delivery(target, DeliveryPace())
    delivery.add([each._replace(unfit="too large") for each in payloads("a")])
    assert (delivery.is_done, refused(delivery), target.attempts) == (True, ["a"], [])
