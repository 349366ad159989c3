"""Post each scenario's events to a running Headwater, hold its answers against what is expected, write a report.

A consumer's validator of OpenLineage's compatibility suite: scenarios, expectations and the report are of its form. It
needs Python's own library only, and a Headwater whose lake has no other runs of these jobs: an empty one.
"""

import argparse
import http.client
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

Json = dict[str, Any]
SEEN_WITHIN_S = 60.0
_ADDRESSES = {
    "job": "/api/v1/namespaces/{namespace}/jobs/{name}",
    "run": "/api/v1/jobs/runs/{id}",
    "dataset": "/api/v1/namespaces/{namespace}/datasets/{name}",
}


class Headwater:
    """A running Headwater."""

    def __init__(self, url: str) -> None:
        """Connect when something is asked; url: such as http://localhost:5000."""
        self._address = urlsplit(url).netloc

    def post(self, event: bytes) -> list[str]:
        """Send an event; return what its refusal says, nothing if it was taken."""
        status, answer = self._ask("POST", "/api/v1/lineage", event)
        return [] if status == 200 else [f"{status}: {answer.decode()}"]

    def wait_until_seen(self) -> None:
        """Wait until questions know every event that was taken. Raises TimeoutError."""
        deadline = time.monotonic() + SEEN_WITHIN_S
        while not self._sees_all():
            if time.monotonic() > deadline:
                raise TimeoutError(f"Events are not seen after {SEEN_WITHIN_S:.0f} s. Look at `headwater audit`.")
            time.sleep(0.05)

    def find(self, entity: str, identity: Json) -> Json | None:
        """Return a job, run or dataset as the API describes it, or None."""
        address = _ADDRESSES[entity].format(**{key: quote(value, safe="") for key, value in identity.items()})
        status, answer = self._ask("GET", address)
        return json.loads(answer) if status == 200 else None

    def _sees_all(self) -> bool:
        found = json.loads(self._ask("GET", "/api/headwater/v1/audit")[1])
        return bool(found["pending"] == 0 and found["index"]["events"] == 0)

    def _ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._address, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def differences(expected: Any, found: Any, where: str) -> Iterator[str]:
    """Yield where an answer is not as expected.

    An object may have more members than expected. A list has exactly the expected items, in any order.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            if key in found:
                yield from differences(value, found[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is missing"
    elif isinstance(expected, list) and isinstance(found, list):
        left = list(found)
        for item in expected:
            match = next((each for each in left if not any(differences(item, each, ""))), None)
            if match is None:
                yield f"{where} has no {json.dumps(item)}"
            else:
                left.remove(match)
        yield from (f"{where} has {json.dumps(each)}, which nobody expects" for each in left)
    elif expected != found:
        yield f"{where} is {json.dumps(found)}, not {json.dumps(expected)}"


def run_scenario(headwater: Headwater, consumer: Path, events: Path) -> Json:
    """Return the report of one scenario: each event's syntax, then what each entity is like."""
    tags = json.loads((events / "config.json").read_text())
    tests = [
        _test(file.name, "syntax", "openlineage", headwater.post(file.read_bytes()), tags)
        for file in sorted((events / "events").iterdir())
    ]
    headwater.wait_until_seen()
    folder = consumer / "scenarios" / events.name
    for each in json.loads((folder / "config.json").read_text())["tests"]:
        expected = json.loads((folder / each["path"]).read_text())
        details = [line for one in expected for line in _wrong(headwater, each["entity"], one)]
        tests.append(_test(each["name"], "semantics", each["entity"], details, each["tags"]))
    return {"name": events.name, "status": _status(tests), "tests": tests}


def _wrong(headwater: Headwater, entity: str, expected: Json) -> Iterator[str]:
    identity = {"id": expected["id"]} if entity == "run" else expected["id"]
    found = headwater.find(entity, identity)
    where = " ".join([entity, *identity.values()])
    return iter([f"{where}: no matching entity"]) if found is None else differences(expected, found, where)


def _test(name: str, kind: str, entity: str, details: list[str], tags: Json) -> Json:
    status = "FAILURE" if details else "SUCCESS"
    return {
        "name": name, "status": status, "validation_type": kind, "entity_type": entity, "details": details,
        "tags": tags,
    }  # fmt: skip


def _status(tests: list[Json]) -> str:
    return "SUCCESS" if all(test["status"] == "SUCCESS" for test in tests) else "FAILURE"


def main() -> int:
    """Run every scenario of the consumer; end with 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="a running Headwater, such as http://localhost:5000")
    parser.add_argument("--consumer_dir", type=Path, required=True, help="the folder of this consumer")
    parser.add_argument("--scenario_dir", type=Path, required=True, help="the folder of all scenarios' events")
    parser.add_argument("--release", default="", help="the OpenLineage release that the report names")
    parser.add_argument("--target", type=Path, required=True, help="where the report is written")
    given = parser.parse_args()
    headwater = Headwater(given.url)
    names = sorted(path.name for path in (given.consumer_dir / "scenarios").iterdir())
    scenarios = [run_scenario(headwater, given.consumer_dir, given.scenario_dir / name) for name in names]
    component = {
        "name": "headwater", "component_type": "consumer", "component_version": "",
        "openlineage_version": given.release, "scenarios": scenarios,
    }  # fmt: skip
    given.target.write_text(json.dumps([component], indent=2) + "\n")
    for scenario in scenarios:
        print(f"{scenario['status']} {scenario['name']} ({len(scenario['tests'])} tests)")
        print("".join(f"  {test['name']}: {line}\n" for test in scenario["tests"] for line in test["details"]), end="")
    return int(_status(scenarios) == "FAILURE")


if __name__ == "__main__":
    sys.exit(main())
