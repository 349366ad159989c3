"""Unusual events that the specification does not show. None may break a list for a Marquez client."""

from tests.reference.world_events import Json, at, dataset, facet, run_event, schema, uuid

_NAMESPACE = "odd: name/space"
_PLACES = ("git@host:me/it.git", "/srv/load.py", "http://host:port/x", "http://[::1]:80/x", "HTTP://x", "")


def _event(number: int, time: str | None = None, **more: Json) -> Json:
    columns = schema(["a"])
    columns["fields"] += [{"name": "b", "type": 7, "description": None}, {"name": None}, "c"]
    told = dataset(("5432:odd #[]", f"t {number}"), schema=columns, dataSource=facet(name=f"s {number}", uri="a b:c"))
    event = run_event("COMPLETE", at(number), uuid(700 + number), (_NAMESPACE, f"j{number}"), outputs=[told], **more)
    return {**event, "eventTime": time or event["eventTime"]}


EVENTS: list[Json] = [
    *(_event(number, job_facets={"sourceCodeLocation": facet(type="git", url=url)})
      for number, url in enumerate(_PLACES)),
    _event(10, "2026-03-01T10:00:00"),
    _event(11, "2026-03-01T12:00:00.123456+02:00"),
    _event(12, "2026-03-01 10:00:00Z"),
    _event(13, "20260301T100000+0200"),
    _event(14, "2026-03-01"),
    {**_event(20), "producer": "my producer", "schemaURL": "https://x/{y}|"},
    {**_event(21), "producer": ":x"},
    _event(22, run_facets={"none": None, "text": "x"}, job_facets={"none": None}),
    _event(23, run_facets={"nominalTime": facet(nominalStartTime="2026-03-01T10:00:00", nominalEndTime="never")}),
    _event(24, run_facets={"headwater_created": facet(args={"a": 1})}),
    _event(25, run_facets={"parent": facet(run={"runId": uuid(1)}, job={"namespace": "odd", "name": "only a parent"})}),
]  # fmt: skip
