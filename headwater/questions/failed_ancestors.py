"""The rule that the failures of a run and of the runs that contain it are one incident."""

from collections.abc import Collection

from headwater.index.reading.write_times import WriteTimes


def failed_ancestors(times: WriteTimes, failed: Collection[int]) -> dict[int, list[int]]:
    """Return for each failed run the failed runs that contain it, nearest first.

    For example, a failed task makes its DAG fail: both are one incident, and the run of the task has the error. failed:
    numbers of runs.
    """
    parents = times.parents_and_executions(failed)
    found: dict[int, list[int]] = {}
    for run in failed:
        seen, todo = {run}, [run]
        for each in todo:  # grows during the loop
            above = [above for above in parents.get(each, ()) if above in failed and above not in seen]
            seen.update(above)
            todo.extend(above)
        found[run] = todo[1:]
    return found
