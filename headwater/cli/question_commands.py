"""Commands made of declared questions: their options and help, from where they answer, and how often they ask."""

import inspect
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from headwater.cli.printing import Shown, any_answer
from headwater.errors import HeadwaterError
from headwater.questions.declaring import Parameter, Question
from headwater.runtime.folders import existing_folder
from headwater.settings import load_settings

if TYPE_CHECKING:
    from headwater.access import Caller
    from headwater.api.freshness import FreshnessMeter
    from headwater.eventlog import Readers
    from headwater.identity.key_desk import KeyDesk
    from headwater.index.reading.index_search import Search
    from headwater.index.reading.view_opener import RulesInForce, ViewOpener
    from headwater.lake.admin_log import Outcome
    from headwater.lake.bronze_tables import Bronze
    from headwater.lake.delta_table import LakeTable
    from headwater.sinks.operating.sink_desk import SinkDesk

Data = Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
End = Annotated[str, typer.Argument(help="DATASET or DATASET#COLUMN.")]

_ENDS = ("from_namespace", "from_dataset", "from_column", "to_namespace", "to_dataset", "to_column")


class DataFolder:
    """What questions are asked of: a data folder, whether Headwater runs on it or not. Opened as it is needed."""

    def __init__(self, data: Path | None):
        """Open nothing yet; raises WrongSetting where there is no such folder."""
        self._settings = load_settings({"data": data})[0]
        self._folder = existing_folder(self._settings)

    @cached_property
    def open_views(self) -> "ViewOpener":
        """Lineage; problems of the user's rules are printed."""
        from headwater.runtime.indexes import open_view_opener

        open_views = open_view_opener(self._settings, self._folder)
        for problem in open_views.rules().problems:
            sys.stderr.write(f"headwater: {problem}\n")
        return open_views

    @cached_property
    def search(self) -> "Search":
        """Names."""
        from headwater.runtime.indexes import open_search

        return open_search(self._settings, self._folder)

    @cached_property
    def bronze(self) -> "Bronze":
        """Events."""
        from headwater.runtime.storage import open_bronze

        return open_bronze(self._settings)

    @cached_property
    def readers(self) -> "Readers":
        """The log."""
        from headwater.runtime.logs import log_readers

        return log_readers(self._settings, self._folder)

    @cached_property
    def freshness(self) -> "FreshnessMeter":
        """What questions cannot see yet; where nothing was sent yet there is no log that could hold more."""
        from headwater.runtime.indexes import open_freshness
        from headwater.runtime.logs import is_log_made

        made = is_log_made(self._settings, self._folder)
        return open_freshness(self._settings, self._folder, self.readers if made else tuple)

    @cached_property
    def sinks(self) -> "SinkDesk":
        """Sinks."""
        from headwater.runtime.sink_opening import open_sink_desk

        return open_sink_desk(self._settings, self._folder)

    @cached_property
    def keys(self) -> "KeyDesk":
        """Keys."""
        from headwater.identity.key_desk import KeyDesk
        from headwater.runtime.identities import open_key_file

        return KeyDesk(open_key_file(self._settings), self._settings.keys)

    @cached_property
    def admin_log(self) -> "LakeTable":
        """Who changed what."""
        from headwater.lake.admin_log import open_admin_log
        from headwater.runtime.storage import lake_place

        return open_admin_log(*lake_place(self._settings))

    @cached_property
    def caller(self) -> "Caller":
        """Who runs this command."""
        from headwater.runtime.identities import local_caller

        return local_caller()

    def record(self, action: str, subject: str, outcome: "Outcome" = "done", detail: str = "") -> None:
        """Write down what this command changed."""
        from headwater.lake.admin_log import Actor
        from headwater.runtime.identities import open_recorder

        open_recorder(self._settings)(Actor(self.caller.name, agent="headwater"), action, subject, outcome, detail)

    def rules(self) -> "RulesInForce":
        """Return the user's rules; the index is not brought up to date for that."""
        from headwater.index.reading.view_opener import ViewOpener
        from headwater.runtime.indexes import open_index_home, open_rules

        return ViewOpener(open_index_home(self._folder), open_rules(self._settings)).rules()

    def ask(self, question: Question, asked: Mapping[str, str], **path: str) -> Any:
        """Return an answer as JSON has it; raises NotKnown only for what no acknowledged event knows, else Behind."""
        if question.method == "GET":
            return to_builtins(self.freshness.certain(lambda: question.ask(self, asked, **path)))
        said = {**path, **asked}
        detail, subject = " ".join(f"{name}={value}" for name, value in said.items()), next(iter(said.values()), "")
        try:
            found = to_builtins(question.ask(self, asked, **path))
        except HeadwaterError:
            self.record(question.name.replace("-", " "), subject, "refused", detail)
            raise
        self.record(question.name.replace("-", " "), subject, "done", detail)
        return found


def command(
    app: typer.Typer, question: Question, shown: Shown | None = None, *,
    also: str = "", arguments: Sequence[str] = (), options: Sequence[str] = (), joined: Sequence[str] = (),
) -> None:  # fmt: skip
    """Add the command that asks a question.

    shown: None to print it by its shape; also: what `--help` adds to what the question says; arguments: parameters that
    go by their places, as required ones do but for `options`; joined: those of several words. Both ends of a way are
    written `DATASET#COLUMN`.
    """
    printed = shown or any_answer(str(question.called).capitalize())
    asked = [each for each in question.parameters if each.key not in _ENDS]
    ends = ("start", "end") if len(asked) < len(question.parameters) else ()

    def run(**given: Any) -> None:
        data, as_json = given.pop("data"), given.pop("as_json")
        path = {each.key: given.pop(each.key) for each in asked if each.place == "path"}
        sent = _ends(*(given.pop(end) for end in ends)) if ends else {}
        given |= {key: " ".join(given[key]) for key in joined}
        sent |= {each.name: _text(given[each.key]) for each in asked if _is_given(given.get(each.key))}
        printed(DataFolder(data).ask(question, sent, **path), as_json, given)

    taken = {end: _taken(end, End) for end in ends}
    order = sorted(asked, key=lambda each: (not each.required, each.key not in arguments))
    taken |= {
        each.key: _parameter(
            each, as_argument=each.key in arguments or (each.required and each.key not in options), joined=joined
        )
        for each in order
    }
    taken |= {"data": _taken("data", Data, None), "as_json": _taken("as_json", Json, False)}
    run.__annotations__ = {key: each.annotation for key, each in taken.items()}
    run.__signature__ = inspect.Signature([*taken.values()])  # type: ignore[attr-defined]
    run.__doc__ = f"{question.does} {also}".strip()
    app.command(question.called)(run)


def other_commands(app: typer.Typer, questions: Sequence[Question]) -> None:
    """Add the commands of questions that have none yet: they take and print what the declaration says."""
    groups = [app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)]
    commands = [each for group in groups for each in group.registered_commands]
    known = {group.name for group in app.registered_groups}
    known |= {each.name or getattr(each.callback, "__name__", "") for each in commands}
    for question in questions:
        if question.called and question.called not in known:
            command(app, question)


def option(question: Question, key: str) -> Any:
    """Return the option of one parameter, for a command that does more than ask."""
    return _info(next(each for each in question.parameters if each.key == key), as_argument=False)


def _parameter(each: Parameter, *, as_argument: bool, joined: Sequence[str]) -> inspect.Parameter:
    plain = int if each.type is int else bool if each.type is bool else str
    kind: Any = list[str] if each.several or each.key in joined else plain
    if not each.required and plain is not bool:
        kind = kind | None
    default = inspect.Parameter.empty if each.required else False if plain is bool else None
    return _taken(each.key, Annotated[kind, _info(each, as_argument=as_argument)], default)


def _info(each: Parameter, *, as_argument: bool) -> Any:
    said = each.help.meaning[0].upper() + each.help.meaning[1:] if each.type is bool else each.help.meaning
    if as_argument:
        return typer.Argument(help=said)
    name = f"--{each.key.rstrip('_').replace('_', '-')}"
    return typer.Option(name, help=said, metavar="TIME" if each.is_time else None)


def _taken(key: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)


def _is_given(value: Any) -> bool:
    return not (value is None or value is False or value == [])


def _text(value: Any) -> Any:
    return "true" if value is True else value if isinstance(value, list) else str(value)


def _ends(start: str, end: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for side, text in (("from", start), ("to", end)):
        dataset, mark, column = text.rpartition("#")
        found[f"{side}Dataset"] = dataset if mark else text
        if mark:
            found[f"{side}Column"] = column
    return found
