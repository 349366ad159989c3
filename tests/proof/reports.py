"""Print violations as text, with one line for each event before and after."""

from collections.abc import Sequence

from tests.proof.campaign import Violation
from tests.reference.world_events import Json


def report(violation: Violation) -> str:
    """Return a violation with its events, one per line."""
    variant = violation.variant
    lines = [str(violation)]
    for number, event in enumerate(variant.stream.events):
        lines.append(f"  {number}: {line(event)}")
        after = variant.mutation.events[number]
        if after != event:
            lines.append(f"     now: {'removed' if after is None else line(after)}")
    lines += [f"  new: {line(event)}" for event in variant.mutation.events[len(variant.stream.events) :] if event]
    return "\n".join(lines)


def line(event: Json) -> str:
    """Return an event in short form."""
    if "dataset" in event:
        return f"DATASET {dataset_line(event['dataset'])}"
    sql = ((event["job"].get("facets") or {}).get("sql") or {}).get("query")
    ends = [" ".join(dataset_line(each) for each in event.get(role) or []) or "-" for role in ("inputs", "outputs")]
    run = event.get("run", {}).get("runId", "declared")[-4:]
    time = event["eventTime"][11:19]
    return f"{time} {event.get('eventType', 'JOB')} {run} {event['job']['name'][-40:]}: {ends[0]} -> {ends[1]}" + (
        f" SQL: {sql[:100]}" if sql else ""
    )


def dataset_line(named: Json) -> str:
    """Return a dataset in short form: its columns, its lineage and its lifecycle change."""
    facets = named.get("facets") or {}
    text: str = named["name"][-30:]
    if fields := (facets.get("schema") or {}).get("fields"):
        text += "(" + " ".join(each["name"] for each in fields[:6]) + (" …" if len(fields) > 6 else "") + ")"
    if lineage := facets.get("columnLineage"):
        made = [
            f"{column}<-{_sources(entry.get('inputFields'))}" for column, entry in (lineage.get("fields") or {}).items()
        ]
        made += [f"*<-{_sources(lineage['dataset'])}"] if lineage.get("dataset") else []
        text += "{" + ", ".join(made[:4]) + (" …" if len(made) > 4 else "") + "}"
    change = (facets.get("lifecycleStateChange") or {}).get("lifecycleStateChange")
    tags = [each.get("field", "*") for each in (facets.get("tags") or {}).get("tags") or []]
    return text + (f" {change}" if change else "") + (f" pii:{','.join(tags)}" if tags else "")


def _sources(steps: Sequence[Json] | None) -> str:
    def told(step: Json) -> str:
        kinds = {
            "masked" if each.get("masking") else each["type"].lower() for each in step.get("transformations") or []
        }
        return f"{step['name'][-20:]}.{step.get('field')}" + (f"[{'/'.join(sorted(kinds))}]" if kinds else "")

    return "+".join(told(step) for step in (steps or [])[:3]) or "nothing"
