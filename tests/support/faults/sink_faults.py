"""Faults of an HTTP target: each is an answer of the server or an address that does not work."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

from tests.support.data.sink_world import runs
from tests.support.servers.sink_target import Asked, Said, SinkServer, sink_server


class Fault(NamedTuple):
    """One fault of a target.

    address: returns the sink's URL for a server's URL. answer: returns the server's answer to a request, from the
    request and its number. passes: whether events are delivered while the fault lasts.
    """

    address: Callable[[str], str] = lambda url: url
    answer: Callable[[Asked, int], Said] = lambda _, __: Said()
    passes: bool = False


def _always(said: Said) -> Callable[[Asked, int], Said]:
    return lambda _, __: said


def _refuses_one(poison: list[str]) -> Callable[[Asked, int], Said]:
    def answer(asked: Asked, _: int) -> Said:
        poison.extend(runs(asked.events)[:1] if not poison else ())
        return Said(422, b"never") if {*poison} & {*runs(asked.events)} else Said()

    return answer


FAULTS: dict[str, Callable[[], Fault]] = {
    "down for the whole run": lambda: Fault(address=lambda _: "http://127.0.0.1:1"),
    "answers after 30 s": Fault,  # the server delays every answer until the test is done
    "401": lambda: Fault(answer=_always(Said(401))),
    "429 with Retry-After": lambda: Fault(answer=_always(Said(429, headers={"retry-after": "30"}))),
    "500 for every seventh event": lambda: Fault(
        answer=lambda _, number: Said(500 if number % 7 == 6 else 200), passes=True
    ),
    "reset amid the body": lambda: Fault(answer=_always(Said(200, b"{", headers={"content-length": "100"}))),
    "one event refused for ever": lambda: Fault(answer=_refuses_one([]), passes=True),
    "DNS gone": lambda: Fault(address=lambda _: "http://nowhere.invalid"),
    "certificate wrong": lambda: Fault(address=lambda url: url.replace("http:", "https:")),
}


@contextmanager
def faulty_server(name: str) -> Iterator[tuple[SinkServer, str, Fault, threading.Event]]:
    """Run a server with a fault that lasts until the event is set.

    Yields the server, the sink's URL, the fault and event.
    """
    fault, over, numbers = FAULTS[name](), threading.Event(), count()
    with sink_server() as server:

        def answer(asked: Asked) -> Said:
            if name == "answers after 30 s":
                over.wait(30)
            return Said() if over.is_set() else fault.answer(asked, next(numbers))

        server.answer = answer
        try:
            yield server, fault.address(server.url), fault, over
        finally:
            over.set()
