"""Remove the parts of job names that belong to one run: ids of runs and applications, dates, partition folders."""

import re
from collections.abc import Callable, Iterable

from headwater.lineage.names.dataset_name import Name

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
_EMPTY = re.compile(r"(?:\A|(?<=\.))[-_ ]*+(?=\.|\Z)")
_BEGINS = re.compile(r"(?:\A|(?<=\.))[-_ ]++(?=[^-_ .])")


def _part(expression: str) -> re.Pattern[str]:
    """Compile a pattern for a part of a name and the separators before it. Dots and `-_ ` separate parts."""
    return re.compile(rf"(?:(?:\A|(?<=\.))|(?<![-_ ])[-_ ]++)(?:{expression})(?=\Z|[-_ .])")


_GLUE = _part("jr_[0-9a-f]{64}")
_APPLICATION = _part(
    "(?:application|container)_[0-9]{10,16}_[0-9]{4,}(?:_[0-9]+)*|local-[0-9]{13}|app-[0-9]{14}-[0-9]{4}"
    "|spark-application-[0-9]{13}|spark-[0-9a-f]{32}|[js]-(?=[0-9A-Z]*[0-9])[0-9A-Z]{11,21}"
)
_DATABRICKS = re.compile(r"(?<![A-Za-z0-9])(job[-_][0-9]+)[-_]run[-_][0-9]+(?![A-Za-z0-9])")
_INVOCATION = _part(_UUID)
_EPOCH = rf"(?<!local-)(?<!application_)(?<!application-){_KEY}1[4-9][0-9]{{11}}"
_DATES = _part(rf"(?:{_HOUR}[-_ ]+)?{_KEY}{_DATE}{_TIME}(?:[-_ ]+{_HOUR})?|{_EPOCH}")


def _without(part: re.Pattern[str], sign: re.Pattern[str] = _DIGIT) -> Callable[[Name], Name]:
    """Return an operation that removes the parts that match, unless that would leave no text between two dots.

    sign: a cheap pattern; names without a match stay the same.
    """

    def drop(job: Name) -> Name:
        name = part.sub("", job.name) if sign.search(job.name) else job.name
        if name == job.name or len(_EMPTY.findall(name)) > len(_EMPTY.findall(job.name)):
            return job
        return Name(job.namespace, _BEGINS.sub("", name))

    return drop


def _without_databricks_run(job: Name) -> Name:
    return Name(job.namespace, _DATABRICKS.sub(r"\1", job.name))


_drop_invocation = _without(_INVOCATION)


def _without_invocation(job: Name) -> Name:
    return _drop_invocation(job) if _DBT.match(job.name) else job


def without_folded_output(job: Name, outputs: Iterable[tuple[Name, Name]]) -> Name:
    """Remove the folders from the end of a job name that the rules for names remove from its output.

    Spark's listener appends the last two parts of the output's path, with `_` between them and instead of dots
    (JobNameBuilder).
    outputs: the outputs of the event, as sent and in canonical form.
    """
    head, dot, end = job.name.rpartition(".")
    for sent, canonical in outputs if dot else ():
        parts = [part for part in sent.name.split("/") if part]
        if end == _appended(parts[-2:]) and (stay := _kept(parts, canonical)) is not None:
            return Name(job.namespace, f"{head}.{_appended(stay)}")
    return job


def _appended(parts: list[str]) -> str:
    return "_".join(parts).replace(".", "_")


def _kept(parts: list[str], canonical: Name) -> list[str] | None:
    """Return those of the last two parts of a path that are in the canonical name, at least its last part.

    Returns None if the canonical name has all parts, or parts that the path lacks.
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
    "drop_glue_run": _without(_GLUE, re.compile("jr_")),
    "drop_application_id": _without(_APPLICATION),
    "drop_databricks_run": _without_databricks_run,
    "drop_dbt_invocation": _without_invocation,
    "drop_dates": _without(_DATES),
}
