"""Rule 3.1: the canonical name of a job, which is the same for all its runs, and the rules in `jobs.yaml`."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from headwater.events.times import parse_time
from headwater.lineage.names.dataset_name import Name, Step
from headwater.lineage.names.rule_parser import NameRule, read_rule
from headwater.lineage.rules.rule_text import RuleEntry, read_entries
from headwater.lineage.runs.bounded_cache import BoundedCache

_DATE = r"(?:19|20)[0-9]{2}(?P<mark>[-_]?)(?:0[1-9]|1[0-2])(?P=mark)(?:0[1-9]|[12][0-9]|3[01])"
_NEXT_DATE = _DATE.replace("mark", "next")
_CLOCK = r"[T_ -]?[0-2][0-9](?:[:_-]?[0-5][0-9]){0,2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_TIME = rf"(?:(?![T_ -]?{_NEXT_DATE}){_CLOCK})?"
_HOUR = r"(?:hour|hh|hr)=[0-2]?[0-9]"
_KEY = r"(?:[A-Za-z][A-Za-z0-9]{0,63}=)?"
_HEX = "[0-9A-Fa-f]"
_UUID = rf"{_HEX}{{8}}(?P<dash>[-_]?)(?:{_HEX}{{4}}(?P=dash)){{3}}{_HEX}{{12}}"
_DBT = re.compile(r"dbt(?![A-Za-z0-9])", re.IGNORECASE)
_DIGIT = re.compile(r"[0-9]")
_EMPTY_PART = re.compile(r"(?:\A|(?<=\.))[-_ ]*+(?=\.|\Z)")
_LEADING_SEPARATORS = re.compile(r"(?:\A|(?<=\.))[-_ ]++(?=[^-_ .])")


def _part_pattern(expression: str) -> re.Pattern[str]:
    """Compile an expression into a pattern for one part of a name, including the separators before the part.

    Parts are separated by dots, hyphens, underscores and spaces.
    """
    return re.compile(rf"(?:(?:\A|(?<=\.))|(?<![-_ ])[-_ ]++)(?:{expression})(?=\Z|[-_ .])")


_GLUE = _part_pattern("jr_[0-9a-f]{64}")
_APPLICATION = _part_pattern(
    "(?:application|container)_[0-9]{10,16}_[0-9]{4,}(?:_[0-9]+)*|local-[0-9]{13}|app-[0-9]{14}-[0-9]{4}"
    "|spark-application-[0-9]{13}|spark-[0-9a-f]{32}|[js]-(?=[0-9A-Z]*[0-9])[0-9A-Z]{11,21}"
)
_DATABRICKS = re.compile(r"(?<![A-Za-z0-9])(job[-_][0-9]+)[-_]run[-_][0-9]+(?![A-Za-z0-9])")
_INVOCATION = _part_pattern(_UUID)
_EPOCH = rf"(?<!local-)(?<!application_)(?<!application-){_KEY}1[4-9][0-9]{{11}}"
_DATES = _part_pattern(rf"(?:{_HOUR}[-_ ]+)?{_KEY}{_DATE}{_TIME}(?:[-_ ]+{_HOUR})?|{_EPOCH}")


def _removal_of(part: re.Pattern[str], sign: re.Pattern[str] = _DIGIT) -> Callable[[Name], Name]:
    """Return an operation that removes each match of `part` from a job name.

    The operation does not change a name if the removal would leave no text between two dots.
    sign: a pattern that is cheap to search for. Names without a match of `sign` stay the same.
    """

    def drop(job: Name) -> Name:
        name = part.sub("", job.name) if sign.search(job.name) else job.name
        if name == job.name or len(_EMPTY_PART.findall(name)) > len(_EMPTY_PART.findall(job.name)):
            return job
        return Name(job.namespace, _LEADING_SEPARATORS.sub("", name))

    return drop


def _remove_databricks_run(job: Name) -> Name:
    return Name(job.namespace, _DATABRICKS.sub(r"\1", job.name))


_remove_invocation = _removal_of(_INVOCATION)


def _remove_dbt_invocation(job: Name) -> Name:
    return _remove_invocation(job) if _DBT.match(job.name) else job


def remove_folded_output(job: Name, outputs: Iterable[tuple[Name, Name]]) -> Name:
    """Remove those folders from the end of a job name that the rules for dataset names remove from its output.

    Spark's listener (JobNameBuilder) appends the last two parts of the output's path to the job name. It joins the
    parts with `_` and replaces dots with `_`.
    outputs: (name as sent, canonical name) of the outputs of the event.
    """
    head, dot, end = job.name.rpartition(".")
    for sent, canonical in outputs if dot else ():
        parts = [part for part in sent.name.split("/") if part]
        if end == _appended_text(parts[-2:]) and (stay := _last_parts_in_canonical_name(parts, canonical)) is not None:
            return Name(job.namespace, f"{head}.{_appended_text(stay)}")
    return job


def _appended_text(parts: list[str]) -> str:
    return "_".join(parts).replace(".", "_")


def _last_parts_in_canonical_name(parts: list[str], canonical: Name) -> list[str] | None:
    """Return the parts among the last two parts of a path that the canonical name still contains.

    If it contains neither, the result is the last part of the canonical name. Returns None if the canonical name has as
    many parts as the path, or a part that the path lacks.
    """
    left = [part for part in canonical.name.split("/") if part]
    if not left or len(left) >= len(parts):
        return None
    kept, rest = [], iter(parts)
    for part in left:
        at = next((each for each in rest if each == part), None)
        if at is None:
            return None  # the rules replaced this part
        kept.append(at)
    stay = [part for part in parts[-2:] if part in kept[-2:]]
    return stay or kept[-1:]


JOB_OPERATIONS: dict[str, Callable[[Name], Name]] = {
    "drop_glue_run": _removal_of(_GLUE, re.compile("jr_")),
    "drop_application_id": _removal_of(_APPLICATION),
    "drop_databricks_run": _remove_databricks_run,
    "drop_dbt_invocation": _remove_dbt_invocation,
    "drop_dates": _removal_of(_DATES),
}

_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_JOB_ENTRY_KEYS = ("namespace", "name", "renamed_from", "retired")
_RULE_KEYS = ("id", "why", "namespace", "name", "to_namespace", "to_name", "do", "keep")


@dataclass(frozen=True)
class JobFile:
    """The content of a `jobs.yaml` file.

    rules: the rules for job names, in order.
    renamed: (former name, current name) of each renamed job.
    retired: (job, time in microseconds since which the job is retired) of each retired job.
    """

    rules: tuple[NameRule, ...] = ()
    renamed: tuple[tuple[Name, Name], ...] = ()
    retired: tuple[tuple[Name, int], ...] = ()


def read_job_rules(text: str, file: str) -> JobFile:
    """Read the content of a `jobs.yaml` file; raises WrongSetting, which names file, line and rule.

    Rules for jobs can use only the operations in `JOB_OPERATIONS` and have no stages.
    file: the name of the file for error messages.
    """
    entries = read_entries(text, file, {"rules": _RULE_KEYS, "jobs": _JOB_ENTRY_KEYS})
    rules = tuple(read_rule(entry, tuple(JOB_OPERATIONS)) for entry in entries["rules"])
    renamed, retired = [], []
    for entry in entries["jobs"]:
        job = Name(entry.required_text("namespace"), entry.required_text("name"))
        former, since = entry.optional_text("renamed_from"), entry.optional_text("retired")
        if former is None and since is None:
            raise entry.setting_error(
                "it neither renames nor retires the job", "add `renamed_from: …` or `retired: 2026-11-30`"
            )
        if former is not None:
            renamed.append((Name(job.namespace, former), job))
        if since is not None:
            retired.append((job, _retired_us(entry, since)))
    return JobFile(rules, tuple(renamed), tuple(retired))


def _retired_us(entry: RuleEntry, text: str) -> int:
    time_us = parse_time(f"{text}T00:00:00" if _DAY.fullmatch(text) else text)[0]
    if time_us is None:
        raise entry.setting_error(
            f"retired is not a time: {text!r}", "write `retired: 2026-11-30` or `2026-11-30T06:00:00Z`"
        )
    return time_us


JOBS = "jobs.yaml"
_MAX_ROUNDS = 8
_STILL_CHANGES = f"the rules still change the name after {_MAX_ROUNDS} rounds, so it stays as sent"
_FOLDED_RULE = "folded-output"
_RENAMED_RULE = "renamed"
_WHY_RENAMED = "jobs.yaml renamed the job"
_WHY_FOLDED = "Spark's listener appends folders of the output, which the rules for names remove"


class JobRules:
    """The rules for job names in force: the user's rules, then the shipped ones.

    A name stays as sent if it still changes after eight rounds, or if the rules would remove all of it.
    """

    def __init__(self, texts: Iterable[tuple[str, str]], canonical: Callable[[str, str], Name]) -> None:
        """Read rules from (file, YAML) pairs; raises WrongSetting, which names file, line and rule.

        canonical: a function that maps (namespace, name) of a dataset as sent to its canonical name.
        """
        own = [read_job_rules(text, file) for file, text in texts]
        self.rules = [rule for file in own for rule in file.rules] + [*_shipped_rules()]
        self.renamed = {former: job for file in reversed(own) for former, job in reversed(file.renamed)}
        self._canonical = canonical
        self._cache: BoundedCache[Name, Name] = BoundedCache()
        self.retired = {self.canonical(job): time_us for file in own for job, time_us in file.retired}
        """Maps the canonical name of each job that `jobs.yaml` retires to the time (us) since which it is retired."""

    def canonical(self, job: Name, outputs: Iterable[Name] = ()) -> Name:
        """Return the canonical name of a job; outputs: the outputs, as sent, of the event that names the job."""
        job, folded = job.shortened, self.folded_outputs(outputs) if "." in job.name else ()
        if folded:
            return self._apply_rules(job, folded)[0]
        found = self._cache.get(job)
        return found if found is not None else self._cache.put(job, self._apply_rules(job, ())[0], 0)

    def folded_outputs(self, outputs: Iterable[Name]) -> Sequence[tuple[Name, Name]]:
        """Return (name as sent, canonical name) for each output for which the two names differ.

        The namespaces are not compared.
        """
        both = ((each, self._canonical(*each.parts)) for each in outputs)
        return [(sent, form) for sent, form in both if sent.name != form.name]

    def explain(self, job: Name, outputs: Iterable[Name] = ()) -> list[Step]:
        """Return the steps from the name of a job as sent to its canonical name, in order."""
        return self._apply_rules(job.shortened, self.folded_outputs(outputs))[1]

    def _apply_rules(self, sent: Name, outputs: Sequence[tuple[Name, Name]]) -> tuple[Name, list[Step]]:
        name, steps = sent, list[Step]()
        if (kept := self._keep_rule(sent)) is not None:
            return sent, [Step(kept.id, kept.why, sent, sent)]
        after = remove_folded_output(name, outputs)
        if after != name:
            steps.append(Step(_FOLDED_RULE, _WHY_FOLDED, name, after))
            name = after
        for _ in range(_MAX_ROUNDS):
            step = self._next_step(name)
            if step is None:
                return (name, steps) if name.name else (sent, [])
            steps.append(step)
            name = step.after
        return sent, [*steps, Step("unsettled", _STILL_CHANGES, name, sent)]

    def _keep_rule(self, name: Name) -> NameRule | None:
        return next((rule for rule in self.rules if rule.keep and _apply_rule(rule, name) is not None), None)

    def _next_step(self, name: Name) -> Step | None:
        if (renamed := self.renamed.get(name)) is not None and renamed != name:
            return Step(_RENAMED_RULE, _WHY_RENAMED, name, renamed)
        for rule in self.rules:
            after = None if rule.keep else _apply_rule(rule, name)
            if after is not None and after != name:
                return Step(rule.id, rule.why, name, after)
        return None


def _apply_rule(rule: NameRule, name: Name) -> Name | None:
    values = rule.match_namespace(name.namespace)
    return None if values is None else rule.apply(name, values, JOB_OPERATIONS)


@cache
def _shipped_rules() -> tuple[NameRule, ...]:
    text = files("headwater.lineage.names").joinpath(JOBS).read_text("utf-8")
    return read_job_rules(text, f"shipped {JOBS}").rules
