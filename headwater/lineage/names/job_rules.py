"""Rule 3.1: the canonical name of a job, which is the same for all its runs."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files

from headwater.lineage.names.dataset_name import Name, Step
from headwater.lineage.names.job_operations import JOB_OPERATIONS, without_folded_output
from headwater.lineage.names.name_rules_text import NameRule, read_job_rules
from headwater.lineage.runs.bounded_cache import BoundedCache

JOBS = "jobs.yaml"
_ROUNDS = 8
_STILL_CHANGES = f"the rules still change the name after {_ROUNDS} rounds, so it stays as sent"
_FOLDED = "folded-output"
_RENAMED = "renamed"
_WHY_RENAMED = "jobs.yaml renamed the job"
_WHY_FOLDED = "Spark's listener appends folders of the output, which the rules for names remove"


class JobRules:
    """The rules for job names in force: the user's rules, then the shipped ones.

    A name stays as sent if it still changes after eight rounds, or if the rules would remove all of it.
    """

    def __init__(self, texts: Iterable[tuple[str, str]], canonical: Callable[[str, str], Name]) -> None:
        """Read rules from (file, YAML) pairs; raises WrongSetting, which names file, line and rule.

        canonical: returns the canonical form of a dataset name.
        """
        own = [read_job_rules(text, file) for file, text in texts]
        self.rules = [rule for file in own for rule in file.rules] + [*_shipped()]
        self.renamed = {former: job for file in reversed(own) for former, job in reversed(file.renamed)}
        self._canonical = canonical
        self._memo: BoundedCache[Name, Name] = BoundedCache()
        self.retired = {self.canonical(job): time_us for file in own for job, time_us in file.retired}
        """The time in microseconds since which `jobs.yaml` declares a job as retired, by canonical name."""

    def canonical(self, job: Name, outputs: Iterable[Name] = ()) -> Name:
        """Return the canonical name of a job; outputs: those of the event that names it, as sent."""
        job, folded = job.cut, self.folded(outputs) if "." in job.name else ()
        if folded:
            return self._settle(job, folded)[0]
        found = self._memo.get(job)
        return found if found is not None else self._memo.keep(job, self._settle(job, ())[0], 0)

    def folded(self, outputs: Iterable[Name]) -> Sequence[tuple[Name, Name]]:
        """Return (name as sent, canonical name) of the outputs whose names differ from their canonical names."""
        both = ((each, self._canonical(*each.parts)) for each in outputs)
        return [(sent, form) for sent, form in both if sent.name != form.name]

    def explain(self, job: Name, outputs: Iterable[Name] = ()) -> list[Step]:
        """Return the steps from the name of a job as sent to its canonical name, in order."""
        return self._settle(job.cut, self.folded(outputs))[1]

    def _settle(self, sent: Name, outputs: Sequence[tuple[Name, Name]]) -> tuple[Name, list[Step]]:
        name, steps = sent, list[Step]()
        if (kept := self._keeps(sent)) is not None:
            return sent, [Step(kept.id, kept.why, sent, sent)]
        after = without_folded_output(name, outputs)
        if after != name:
            steps.append(Step(_FOLDED, _WHY_FOLDED, name, after))
            name = after
        for _ in range(_ROUNDS):
            step = self._step(name)
            if step is None:
                return (name, steps) if name.name else (sent, [])
            steps.append(step)
            name = step.after
        return sent, [*steps, Step("unsettled", _STILL_CHANGES, name, sent)]

    def _keeps(self, name: Name) -> NameRule | None:
        return next((rule for rule in self.rules if rule.keep and _applied(rule, name) is not None), None)

    def _step(self, name: Name) -> Step | None:
        if (renamed := self.renamed.get(name)) is not None and renamed != name:
            return Step(_RENAMED, _WHY_RENAMED, name, renamed)
        for rule in self.rules:
            after = None if rule.keep else _applied(rule, name)
            if after is not None and after != name:
                return Step(rule.id, rule.why, name, after)
        return None


def _applied(rule: NameRule, name: Name) -> Name | None:
    values = rule.fit(name.namespace)
    return None if values is None else rule.apply(name, values, JOB_OPERATIONS)


@cache
def _shipped() -> tuple[NameRule, ...]:
    text = files("headwater.lineage.names").joinpath(JOBS).read_text("utf-8")
    return read_job_rules(text, f"shipped {JOBS}").rules
