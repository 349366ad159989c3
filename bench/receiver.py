"""Measure the receiver's CPU per acknowledged event against its floor, and the latency of its responses."""

import argparse
import tempfile
from pathlib import Path

from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, middle, show
from bench.running import Load, Server, floor_receiver, headwater, load, write_events

CONNECTIONS = 32
EVENTS = 6000
OPEN_RATE = 500


def run(rounds: int = ROUNDS) -> list[Figure]:
    """Measure Headwater and the floor alternately, with 15 KB and 2 KB; then at a fixed rate while the parser runs."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        large = write_events(Path(name) / "15.ndjson", 1000, 15)
        small = write_events(Path(name) / "2.ndjson", 1000, 2)
        with headwater(tick="3600s") as idle, floor_receiver() as floor:
            figures = _against_floor(idle, floor, large, rounds, "15 KB") + _against_floor(
                idle, floor, small, rounds, "2 KB"
            )
        with headwater(tick="1s") as busy:
            load(busy, large, count=OPEN_RATE, rate=OPEN_RATE)  # let the parser create its tables before measuring
            return figures + _open_loop(busy, large, rounds)


def _against_floor(subject: Server, floor: Server, file: Path, rounds: int, size: str) -> list[Figure]:
    for server in (subject, floor):
        load(server, file, count=EVENTS // 4, connections=CONNECTIONS)
    pairs = [(_round(subject, file, number), _round(floor, file, number)) for number in range(1, rounds + 1)]
    ratio = middle([ours.cpu_us / least.cpu_us for ours, least in pairs])
    cpu_us, floor_us = middle([ours.cpu_us for ours, _ in pairs]), middle([least.cpu_us for _, least in pairs])
    p99, floor_p99 = middle([ours.p99_ms for ours, _ in pairs]), middle([least.p99_ms for _, least in pairs])
    rate, floor_rate = (middle([pair[side].events_per_s for pair in pairs]) for side in (0, 1))
    return [
        Figure(f"{size}: CPU per event / floor", ratio, "x", 1.5, "<=", 1.0, ratio, cpu_us),
        Figure(f"{size}: floor: CPU per event", floor_us, "us", cpu_us=floor_us),
        Figure(
            f"{size}: p99 of {CONNECTIONS} closed-loop clients, no parser",
            p99,
            "ms",
            15,
            "<=",
            floor_p99,
            p99 / floor_p99,
        ),
        Figure(f"{size}: rate", rate, "1/s", floor=floor_rate, ratio=rate / floor_rate),
    ]


def _round(server: Server, file: Path, number: int) -> Load:
    return load(server, file, count=EVENTS, connections=CONNECTIONS, start=number * 1000)


def _open_loop(server: Server, file: Path, rounds: int) -> list[Figure]:
    found = [load(server, file, count=OPEN_RATE * 8, rate=OPEN_RATE, start=n * 1000) for n in range(1, rounds + 1)]
    p99, cpu_us = middle([one.p99_ms for one in found]), middle([one.cpu_us for one in found])
    return [Figure(f"15 KB: p99 at {OPEN_RATE}/s, open loop, with the parser", p99, "ms", 30, cpu_us=cpu_us)]


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    show("Receiver", run(QUICK_ROUNDS if parser.parse_args().quick else ROUNDS))


if __name__ == "__main__":
    main()
