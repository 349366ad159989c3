"""Rule 3.6: the order of tasks in an Airflow DAG. It is control flow and never an edge between datasets."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from headwater.events.python_text import read_texts
from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import job_key

_MAX_TASKS = 5_000
_MAX_PAIRS = 50_000

TaskPair = tuple[str, str]
"""(id of a task, id of a task that waits for it)"""


class DagOrder(NamedTuple):
    """What the job facet `airflow` of a DAG states.

    dag: the key of the DAG's job. time_us: the time of the event. groups: the id of the task group of each task, None
    for a task outside of groups. pairs: all pairs of tasks; None if the facet does not state the order.
    """

    dag: Name
    time_us: int
    groups: Mapping[str, str | None]
    pairs: frozenset[TaskPair] | None


class TaskOrder(NamedTuple):
    """What the run facet `airflow` of a task's newest run states.

    job: the key of the task's job. dag: the key of the DAG's job. time_us: the start of the run. before, after: the ids
    of the tasks directly upstream and downstream; None if the facet does not state them. rule: the trigger rule.
    """

    job: Name
    dag: Name
    task_id: str
    time_us: int
    group: str | None
    before: frozenset[str] | None
    after: frozenset[str] | None
    rule: str | None


class Task(NamedTuple):
    """A task of a DAG: the keys of its job and its DAG, and the id of its task group (None without one)."""

    job: Name
    dag: Name
    task_id: str
    group: str | None


class OrderOfTasks(NamedTuple):
    """The tasks of DAGs, and the pairs of jobs (predecessor, successor) with the trigger rule of the successor."""

    tasks: Mapping[Name, Task]
    pairs: Mapping[tuple[Name, Name], str | None]


def read_dag_order(dag: Name, time_us: int, facet: Any) -> DagOrder | None:
    """Read the job facet `airflow` of a DAG; None if it lists no tasks.

    dag: the key of the DAG's job. time_us: the time of the event. facet: the decoded facet, of any structure. Old
    providers state the order in `taskTree`, newer ones in the `downstream_task_ids` of each task.
    """
    listed = facet.get("tasks") if isinstance(facet, dict) else None
    tree = facet.get("taskTree") if isinstance(facet, dict) else None
    tasks = dict(list(listed.items())[:_MAX_TASKS]) if isinstance(listed, dict) else {}
    stated = ((task, read_texts(_member(each, "downstream_task_ids"))) for task, each in tasks.items())
    following = {task: after for task, after in stated if after is not None}
    pairs: set[TaskPair] | None = None
    if following:
        pairs = {(task, each) for task, after in following.items() for each in after}
    elif isinstance(tree, dict) and tree:
        pairs = set(_pairs_in_tree(tree))
    if not tasks and not pairs:
        return None
    groups = {task: text_at(each, "task_group") for task, each in tasks.items()}
    for pair in pairs or ():
        for task in pair:
            groups.setdefault(task, None)
    return DagOrder(dag, time_us, groups, None if pairs is None else frozenset(sorted(pairs)[:_MAX_PAIRS]))


def read_task_order(job: Name, time_us: int, facet: Any) -> TaskOrder | None:
    """Read the run facet `airflow` of a task's run; None if it names no task and no DAG.

    job: the key of the task's job. time_us: the start of the run. facet: the decoded facet, of any structure.
    """
    task_id, dag_id = text_at(facet, "task", "task_id"), text_at(facet, "dag", "dag_id")
    if not task_id:
        return None
    if job.name.endswith(f".{task_id}"):
        dag_id = job.name[: -len(task_id) - 1]
    if not dag_id:
        return None
    before, after = (read_texts(_member(facet["task"], side)) for side in ("upstream_task_ids", "downstream_task_ids"))
    return TaskOrder(
        job,
        job_key(Name(job.namespace, dag_id), None),
        task_id,
        time_us,
        text_at(facet, "task", "task_group", "group_id"),
        None if before is None else frozenset(before),
        None if after is None else frozenset(after),
        text_at(facet, "task", "trigger_rule"),
    )


def order_of_tasks(dags: Iterable[DagOrder], tasks: Iterable[TaskOrder]) -> OrderOfTasks:
    """Return the tasks and their order. For each pair of tasks, the newest statement about the pair decides.

    The result does not depend on the order of the arguments.
    """
    stated: dict[Name, DagOrder] = {}
    for each in dags:
        if each.dag not in stated or stated[each.dag].time_us < each.time_us:
            stated[each.dag] = each
    own: defaultdict[Name, dict[str, TaskOrder]] = defaultdict(dict)
    for task in tasks:
        known = own[task.dag].get(task.task_id)
        if known is None or (known.time_us, known.job) < (task.time_us, task.job):
            own[task.dag][task.task_id] = task
    found: dict[Name, Task] = {}
    pairs: dict[tuple[Name, Name], str | None] = {}
    for dag in sorted({*stated, *own}):
        by_id = {each.task_id: each for each in _tasks_of(dag, stated.get(dag), own[dag])}
        found |= {each.job: each for each in by_id.values()}
        for start, end in _current_pairs(stated.get(dag), own[dag]):
            if start in by_id and end in by_id:
                rule = own[dag][end].rule if end in own[dag] else None
                pairs[by_id[start].job, by_id[end].job] = rule
    return OrderOfTasks(found, pairs)


def _tasks_of(dag: Name, stated: DagOrder | None, own: Mapping[str, TaskOrder]) -> Iterator[Task]:
    """Yield the tasks that the DAG lists, those that have runs, and those that a run names before or after itself."""
    listed = dict(stated.groups) if stated else {}
    ids = {*listed, *own, *(other for each in own.values() for other in (*(each.before or ()), *(each.after or ())))}
    for task_id in sorted(ids):
        if task_id in own:
            task = own[task_id]
            newer = stated is not None and task_id in listed and stated.time_us >= task.time_us
            yield Task(task.job, dag, task_id, listed[task_id] if newer else task.group)
        else:
            job = job_key(Name(dag.namespace, f"{dag.name}.{task_id}"), None)
            yield Task(job, dag, task_id, listed.get(task_id))


def _current_pairs(stated: DagOrder | None, own: Mapping[str, TaskOrder]) -> Iterator[TaskPair]:
    pairs = set(stated.pairs or ()) if stated else set[TaskPair]()
    for task in own.values():
        pairs |= {(before, task.task_id) for before in task.before or ()}
        pairs |= {(task.task_id, after) for after in task.after or ()}
    for start, end in sorted(pairs)[:_MAX_PAIRS]:
        statements = []
        if stated is not None and stated.pairs is not None:
            statements.append((stated.time_us, 1, (start, end) in stated.pairs))
        if start in own and (after := own[start].after) is not None:
            statements.append((own[start].time_us, 0, end in after))
        if end in own and (before := own[end].before) is not None:
            statements.append((own[end].time_us, 0, start in before))
        if max(statements)[2]:
            yield start, end


def _pairs_in_tree(tree: Mapping[str, Any]) -> Iterator[TaskPair]:
    """Yield the pairs in a `taskTree`. It repeats the tasks below a task for each of its predecessors."""
    waiting: list[tuple[str, Any]] = list(tree.items())
    seen = set[TaskPair]()
    for _ in range(_MAX_PAIRS):
        if not waiting:
            return
        task, below = waiting.pop()
        for each, deeper in below.items() if isinstance(below, dict) else ():
            if (task, each) not in seen:
                seen.add((task, each))
                waiting.append((each, deeper))
                yield task, each


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
