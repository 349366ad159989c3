"""Send runs to Microsoft Purview as Atlas entities, by bulk upserts; never change assets that scans have created."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, cast

import msgspec
from pydantic import Field

from headwater.common.errors import Retry, WrongQuestion, WrongSetting
from headwater.index.rules_files import RulesFiles
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.runs.run_facts import RunFacts
from headwater.sinks.connecting.authentication import EntraId
from headwater.sinks.connecting.http import HttpOptions, open_poster
from headwater.sinks.interface.options import Options, SecretResolver
from headwater.sinks.interface.shape import History, Outcome, Payload, SinkEvent
from headwater.sinks.interface.support import ItemSupport, SupportTable
from headwater.sinks.targets.purview.account import PurviewAccount, RequestFailed
from headwater.sinks.targets.purview.atlas import Entity, deduplicate
from headwater.sinks.targets.purview.catalog import PurviewCatalog
from headwater.sinks.targets.purview.columns import newest_columns
from headwater.sinks.targets.purview.entities import EntityBuilder
from headwater.sinks.targets.purview.names import QualifiedNameRule, QualifiedNames

_SCOPE = "https://purview.azure.net/.default"
_NO_COLUMNS = "its dataset is an input, without columns"
_COLUMNS = "columns of datasets that this sink creates, if their rule has `columns`: name, data type, description"
_SUPPORT = (
    ItemSupport("event", "*", "whole"),
    ItemSupport("state", "*", "part", "a job has the state of its newest run"),
    ItemSupport("read dataset", "*", "part", "of runs that count and write a dataset"),
    ItemSupport("written dataset", "*", "part", "of runs that count"),
    ItemSupport("job facet", "jobType", "part", "whether its runs end"),
    ItemSupport("dataset facet", "symlinks", "part", "used for the dataset's name"),
    ItemSupport("dataset facet", "lifecycleStateChange", "part", "whether a run only drops a dataset"),
    ItemSupport("dataset facet", "schema", "part", _COLUMNS),
    ItemSupport("nested column", "*", "part", _COLUMNS),
    ItemSupport("value edge", "*", "whole"),
    ItemSupport("other edge", "*", "part", _NO_COLUMNS),
    ItemSupport("dataset-wide edge", "*", "part", _NO_COLUMNS),
    ItemSupport("dataset edge", "*", "part", _NO_COLUMNS),
    ItemSupport("masked column", "*", "not", "columnMapping contains only names"),
    ItemSupport("subtype", "*", "not", "columnMapping contains only names"),
    ItemSupport("description", "*", "not", "columnMapping contains only names"),
    ItemSupport("missing input", "*", "whole"),
    ItemSupport("*", "*", "not", "facets are not sent"),
)


class PurviewOptions(HttpOptions):
    """Options of the type `purview`; without credentials, tokens are requested as this machine's identity."""

    type: Literal["purview"]
    batch: int = Field(100, ge=1, le=1000, description="Entities per request.")
    collection: str | None = Field(None, pattern=r"^[\w-]+$", description="Id of the collection for new entities.")
    names: tuple[QualifiedNameRule, ...] = Field((), description="Rules for qualified names, before the shipped ones.")
    databricks_workspace: str | None = Field(
        None,
        pattern=r"^[\w.-]+$",
        description="Host of the workspace that owns the tables below dbfs:/user/hive/warehouse.",
    )
    rules: Path | None = Field(None, description="Folder with your rules for names, like the setting `rules`.")


OPTIONS = PurviewOptions


def support_table(_: Options) -> SupportTable:
    """Return what Purview can represent: the newest state of jobs, lineage of datasets, and direct column lineage."""
    return _SUPPORT


class PurviewTarget:
    """A target that sends to one account."""

    def __init__(self, account: PurviewAccount, names: QualifiedNames, largest: int) -> None:
        self.largest = largest
        self._account = account
        self._catalog = PurviewCatalog(account)
        self._names = names

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of runs that have no earlier events."""
        return self.convert_runs(events, {})

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return the payloads of events: the lineage of a run for its last event, the job's state for other events."""
        builder = EntityBuilder(self._names)
        runs: dict[str, list[RunFacts]] = defaultdict(list)
        for event in chain.from_iterable(history.values()):
            fact = builder.read_facts(event)
            runs[fact.run_key].append(fact)
        facts = [builder.read_facts(event) for event in events]
        last: dict[str, RunFacts] = {}
        for fact in facts:
            runs[fact.run_key].append(fact)
            last[fact.run_key] = fact
        return [
            _payload(event, _entities_of_event(builder, fact, runs[fact.run_key], is_last=fact is last[fact.run_key]))
            for event, fact in zip(events, facts, strict=True)
        ]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Upsert the entities of payloads; refuses payloads with types that the account does not know."""
        entities = [msgspec.json.decode(payload.body)["entities"] for payload in payloads]
        try:
            missing = self._account.create_types_and_list_unknown(
                {each["typeName"] for own in entities for each in own}
            )
            refused = {
                place: _unknown_types_refusal(unknown)
                for place, own in enumerate(entities)
                if (unknown := sorted(missing & {each["typeName"] for each in own}))
            }
            taken = [own for place, own in enumerate(entities) if place not in refused]
            self._catalog.upsert_entities(deduplicate(taken), newest_columns(taken))
        except RequestFailed as error:
            return error.outcome_for(len(payloads))
        return Outcome(refused=refused)

    def check(self) -> str:
        """Check access, and report which types of the rules the account does not know."""
        self._account.check_answer()
        try:
            missing = self._account.create_types_and_list_unknown(set(self._names.entity_types))
        except RequestFailed as error:
            raise Retry(error.outcome_for(1).trouble or "It returned no list of types.") from error
        unknown = f"; it does not know {', '.join(sorted(missing))}: correct `names`" if missing else ""
        return f"the server responds like Purview{unknown}"

    def close(self) -> None:
        """Close the connection."""
        self._account.close()


def open_target(options: Options, reveal: SecretResolver) -> PurviewTarget:
    """Return the target."""
    given = cast("PurviewOptions", options)
    if not (given.key or given.oauth or given.entra):
        given = given.model_copy(update={"entra": EntraId(scope=_SCOPE)})
    account = PurviewAccount(open_poster(given, reveal), given.batch, given.collection)
    return PurviewTarget(account, qualified_names(given), given.batch)


def qualified_names(options: Options) -> QualifiedNames:
    """Return a sink's rules for names; raises WrongSetting, or WrongQuestion for a sink of another type."""
    if not isinstance(options, PurviewOptions):
        raise WrongQuestion(
            f"A sink of type {options.type} has no rules for qualified names. Use a sink of type purview."
        )
    return QualifiedNames(options.names, _load_rules(options.rules), options.databricks_workspace)


def _load_rules(folder: Path | None) -> NameRules:
    if folder is None:
        return default_rules()
    if not folder.expanduser().is_dir():
        raise WrongSetting(f"The folder {folder} does not exist. Create it, or correct `rules`.")
    files = RulesFiles(folder.expanduser())
    rules = files.current_rules().names
    if files.problems:
        raise WrongSetting(files.problems[0])
    return rules


def _entities_of_event(
    builder: EntityBuilder, fact: RunFacts, run: Sequence[RunFacts], *, is_last: bool
) -> list[Entity]:
    if fact.kind != "RUN":
        return builder.run_entities([fact])
    return builder.run_entities(run) if is_last else builder.job_state_entities(fact)


def _payload(event: SinkEvent, entities: Sequence[Entity]) -> Payload:
    body = msgspec.json.encode({"entities": entities})
    return Payload(event, body, None if entities else "it contains no job and no dataset for the catalog")


def _unknown_types_refusal(types: Sequence[str]) -> str:
    return (
        f"Purview does not know the type {', '.join(types)}. Correct `names`, or register such a source; then redrive."
    )
