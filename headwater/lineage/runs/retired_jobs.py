"""Rule 6.11: the jobs that were deleted or declared as retired, and when."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import RunFacts

RETIRES = "retires"
"""The prefix of a write sign (`EventContent.write_signs`) of a run that deletes a job or a namespace.

The namespace and the name of the job follow.
"""

_MARK = "\0"


class RetiredJobs(NamedTuple):
    """The times (us) at which jobs were last retired. An entry with an empty job name retires its whole namespace."""

    times_us: Mapping[Name, int]

    def __bool__(self) -> bool:
        """Tell whether a job was ever retired."""
        return bool(self.times_us)

    def since_us(self, *names: Name) -> int | None:
        """Return the time (us) since which a job with these names is retired, None if it is not."""
        spaces = (Name(name.namespace, "") for name in names)
        times = (self.times_us.get(name) for name in (*names, *spaces))
        return max((time_us for time_us in times if time_us is not None), default=None)


def newest_retirements(retired: Iterable[tuple[Name, int]]) -> RetiredJobs:
    """Return the newest time for each job or namespace."""
    found: dict[Name, int] = {}
    for name, time_us in retired:
        found[name] = max(time_us, found.get(name, time_us))
    return RetiredJobs(found)


def retiring_sign(job: Name) -> str:
    """Return the write sign of a run that deletes a job, or a namespace if the name is empty."""
    return _MARK.join((RETIRES, *job.parts))


def deleted_by(fact: RunFacts) -> Iterator[Name]:
    """Yield the jobs and namespaces that a COMPLETE event deletes."""
    signs = fact.content.write_signs if fact.type == "COMPLETE" else ()
    for sign in signs:
        if sign.startswith(RETIRES + _MARK):
            _, namespace, name = sign.split(_MARK, 2)
            yield Name(namespace, name)


def declared_until(retired: Mapping[Name, int], end_us: int | None) -> Iterator[tuple[Name, int]]:
    """Yield the jobs that are declared as retired up to a time (us), nothing if there is no event."""
    return ((job, time_us) for job, time_us in retired.items() if end_us is not None and time_us <= end_us)
