"""Parse the promises of a contract from the standard's YAML; a contract promises nothing about missing members."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headwater.common.errors import WrongSetting
from headwater.governance.contracts.odcs import (
    DATASET,
    HOLDS,
    JOBS,
    LINEAGE,
    OPAQUE,
    ServiceLevels,
    parse_service_levels,
)
from headwater.governance.yaml_text import read_yaml

Json = Mapping[str, Any]


class PromisedDataset(NamedTuple):
    """The dataset of a promise. If `namespace` is None, `dataset` is a name that the questions resolve."""

    namespace: str | None
    dataset: str

    @property
    def text(self) -> str:
        """The dataset in the form of commands: `NAMESPACE/DATASET`, or only the name."""
        return f"{self.namespace}/{self.dataset.lstrip('/')}" if self.namespace else self.dataset


class PromisedSource(NamedTuple):
    """A promised upstream column (`column`) of a promised column.

    into: the column that it feeds. distance: number of steps to the promised column.
    steps: type, subtype and masking of each transformation, or None if not promised.
    masked: whether values arrive masked, or None if not promised.
    """

    column: str
    into: str
    distance: int
    steps: tuple[tuple[str, str, bool], ...] | None
    masked: bool | None


class PromisedColumn(NamedTuple):
    """A promised column; members are None if the contract does not promise them.

    holds: maps each tag with values that the column contains to the exposure of these values.
    """

    name: str
    type: str | None
    tags: frozenset[str]
    sources: tuple[PromisedSource, ...] | None
    holds: Mapping[str, str] | None
    description: str | None


class Promise(NamedTuple):
    """The promises about one dataset; owners and jobs are None if the contract does not promise them.

    jobs: the jobs that write the dataset. jobs_with_columns: the jobs among them that report column lineage.
    """

    asked: PromisedDataset
    version: str
    columns: tuple[PromisedColumn, ...]
    tags: frozenset[str]
    owners: frozenset[str] | None
    jobs: frozenset[str] | None
    jobs_with_columns: frozenset[str]
    levels: ServiceLevels


def parse_promises(text: str, where: str) -> list[Promise]:
    """Parse a contract and return one promise per table; raises WrongSetting if the contract is invalid.

    where: name of the file, for error messages.
    """
    return promises_of(read_yaml(text, where), where)


def promises_of(document: Json, where: str) -> list[Promise]:
    """Return one promise per table of a parsed contract; raises WrongSetting if the contract is invalid."""
    if document.get("kind") != "DataContract" or not str(document.get("apiVersion", "")).startswith("v3."):
        raise WrongSetting(
            f"{where} is not an ODCS 3 data contract (kind DataContract, apiVersion v3.…). "
            "`headwater contract` generates one."
        )
    tables = document.get("schema")
    if not isinstance(tables, list) or not tables or not all(isinstance(each, dict) for each in tables):
        raise WrongSetting(f"{where}: `schema` does not list any table. List at least one, with its `physicalName`.")
    _check_lists(document, _OF_DOCUMENT, where)
    return [_parse_promise(document, table, where) for table in tables]


_EVERYWHERE = ("tags", "customProperties")
_OF_DOCUMENT = (*_EVERYWHERE, "slaProperties")
_OF_TABLE = (*_EVERYWHERE, "properties")
_OF_COLUMN = (*_EVERYWHERE, "transformSourceObjects")


def _check_lists(member: Json, lists: Sequence[str], where: str) -> None:
    """Raise WrongSetting if one of the keys in `lists` is not a list, because it would be ignored otherwise."""
    for key in lists:
        if not isinstance(member.get(key), list | None):
            raise WrongSetting(f"{where}: `{key}` of {_quoted_name(member)} is not a list. Start each item with `- `.")


def _check_texts(member: Json, where: str) -> None:
    """Raise WrongSetting if YAML parsed a name as another type, for example `no` as a boolean."""
    for key in ("name", "physicalName"):
        value = member.get(key)
        if not isinstance(value, str | None):
            raise WrongSetting(f"{where}: `{key}: {value}` is not a string. Put the value in quotes.")


def _quoted_name(member: Json) -> str:
    return repr(member.get("name") or member.get("physicalName") or member.get("id"))


def _parse_promise(document: Json, table: Json, where: str) -> Promise:
    _check_texts(table, where)
    _check_lists(table, _OF_TABLE, where)
    columns = _list_or_empty(table.get("properties"))
    for each in columns:
        if not isinstance(each, dict) or each.get("name") is None:
            raise WrongSetting(f"{where}: a column of {_quoted_name(table)} has no `name`. Add it.")
        _check_texts(each, where)
        _check_lists(each, _OF_COLUMN, where)
    custom = _custom_properties(table)
    jobs = [_job_name(each) for each in _list_or_empty(custom.get(JOBS))]
    opaque = {_job_name(each) for each in _list_or_empty(custom.get(OPAQUE))}
    return Promise(
        _promised_dataset(table, where),
        str(document.get("version", "")),
        tuple(_parse_column(each, is_ours=DATASET in custom) for each in columns),
        _text_set(table.get("tags")) | _text_set(document.get("tags")),
        _parse_owners(document.get("team")),
        frozenset(jobs) if jobs else None,
        frozenset(set(jobs) - opaque),
        parse_service_levels(document.get("slaProperties")),
    )


def dataset_of(table: Json) -> PromisedDataset | None:
    """Return the dataset of a table in a contract, or None if it has no name.

    Generated contracts contain namespace and name; in other contracts, the physical name is used without a namespace.
    """
    named = _custom_properties(table).get(DATASET)
    if isinstance(named, dict) and named.get("name"):
        return PromisedDataset(str(named["namespace"]) if named.get("namespace") else None, str(named["name"]))
    name = table.get("physicalName") or table.get("name")
    return PromisedDataset(None, str(name)) if name else None


def _promised_dataset(table: Json, where: str) -> PromisedDataset:
    found = dataset_of(table)
    if found is None:
        raise WrongSetting(f"{where}: a table has neither `physicalName` nor `name`. Add the name of its dataset.")
    return found


def _parse_column(member: Json, *, is_ours: bool) -> PromisedColumn:
    custom, name = _custom_properties(member), str(member["name"])
    holds = {
        str(each.get("tag")): str(each.get("exposure"))
        for each in _list_or_empty(custom.get(HOLDS))
        if _is_mapping(each)
    }
    kind = member.get("physicalType")
    lineage = [_parse_source(each) for each in _list_or_empty(custom.get(LINEAGE)) if _is_mapping(each)]
    plain = [
        PromisedSource(str(each), "", 1, None, None) for each in _list_or_empty(member.get("transformSourceObjects"))
    ]
    has_lineage = "transformSourceObjects" in member or LINEAGE in custom
    return PromisedColumn(
        name,
        None if kind is None else str(kind),
        _text_set(member.get("tags")),
        tuple(lineage or plain) if has_lineage else None,
        holds if holds or LINEAGE in custom or is_ours else None,
        None if member.get("description") is None else str(member["description"]),
    )


def _parse_source(member: Json) -> PromisedSource:
    steps = member.get("steps")
    parsed = tuple(
        (str(each.get("type", "")), str(each.get("subtype") or ""), each.get("masking") is True)
        for each in _list_or_empty(steps)
        if _is_mapping(each)
    )
    distance, masked = member.get("distance"), member.get("masked")
    return PromisedSource(
        str(member.get("column", "")),
        str(member.get("into", "")),
        distance if isinstance(distance, int) else 1,
        tuple(sorted(set(parsed))) if isinstance(steps, list) else None,
        masked if isinstance(masked, bool) else None,
    )


def _parse_owners(team: Any) -> frozenset[str] | None:
    members = team.get("members") if isinstance(team, dict) else team
    named = [each.get("username") or each.get("name") for each in _list_or_empty(members) if isinstance(each, dict)]
    return frozenset(str(each) for each in named if each) or None


def _custom_properties(member: Json) -> dict[str, Any]:
    every = _list_or_empty(member.get("customProperties"))
    return {str(each.get("property")): each.get("value") for each in every if isinstance(each, dict)}


def _job_name(job: Any) -> str:
    return f"{job.get('namespace')}/{job.get('name')}" if isinstance(job, dict) else str(job)


def _text_set(value: Any) -> frozenset[str]:
    return frozenset(str(each) for each in _list_or_empty(value))


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)
