"""Build DataHub's URNs of datasets, flows and jobs by the rules of its OpenLineage converter; D1 to D4."""

import posixpath
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from headwater.events.event import SentSymlink
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import job_key
from headwater.sinks.targets.datahub.options import DataHubOptions, PlatformRule

_FILES = {
    "s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gcs", "gcs": "gcs", "abfs": "abs", "abfss": "abs", "wasb": "abs",
    "wasbs": "abs", "dbfs": "dbfs", "file": "file",
}  # fmt: skip
_RENAMED = {"awsathena": "athena", "sqlserver": "mssql"}
_GLUE = ("aws:glue:", "arn:aws:glue:")
_ONELAKE = re.compile(r"([^@/]+)@onelake\.dfs\.fabric\.microsoft\.com/([^/]+)/Tables/(?:([^/]+)/)?([^/]+)")
_DEFAULT_RULE = PlatformRule(namespace="*")
_RESERVED = {ord(sign): f"%{ord(sign):02X}" for sign in ",()"} | {ord("␟"): "%E2%90%9F"}


def escape_urn(text: str) -> str:
    """Escape a text for use inside a URN."""
    return text.translate(_RESERVED)


class PlatformName(NamedTuple):
    """A dataset in DataHub: the platform, and the name of the dataset on this platform."""

    platform: str
    name: str


class DataHubUrns:
    """Build URNs with one sink's options; pure functions."""

    def __init__(self, options: DataHubOptions) -> None:
        self._given = options
        self._specs = [spec.split("/") for spec in options.path_specs]
        self._partition = re.compile(f"(?:{options.file_partition_regexp})$") if options.file_partition_regexp else None
        self.of_name = lru_cache(50_000)(self._urn_of_name)

    def dataset_urn(self, name: Name, symlinks: Iterable[SentSymlink] = ()) -> str:
        """Return the URN of a dataset by its last symlink of type TABLE, or without one by its name (D1, D2)."""
        tables = [] if self._given.by_path else [each for each in symlinks if each.type == "TABLE"]
        if not tables or (self._given.naming == "sources" and _match_onelake(_address_of_name(name))):
            return self.of_name(name)
        namespace, table, _ = tables[-1]
        rule = self._rule_for_namespace(namespace)
        if namespace.startswith(_GLUE):
            parts = table.split("/")
            table = ".".join(parts[1:]) if parts[0] == "table" and len(parts) == 3 else table
        return self._build_urn(rule, PlatformName("glue" if namespace.startswith(_GLUE) else self._given.hive, table))

    def flow_urn(self, job: Name, orchestrator: str) -> str:
        """Return the URN of a job's flow (D4); a session id in the job's name is removed (rule 3)."""
        name = self._given.flow_name or job_key(job, None).name.split(".", 1)[0]
        instance = self._given.flow_instance or job.namespace
        return f"urn:li:dataFlow:({escape_urn(orchestrator)},{escape_urn(name)},{escape_urn(instance)})"

    def job_urn(self, job: Name, flow: str) -> str:
        """Return the URN of a job within its flow (D4)."""
        return f"urn:li:dataJob:({flow},{escape_urn(job_key(job, None).name)})"

    def instance_of(self, name: Name) -> str | None:
        """Return the platform instance of a dataset by its namespace, or None."""
        return self._rule_for_namespace(name.namespace).platform_instance or self._given.dataset_instance

    def _urn_of_name(self, name: Name) -> str:
        return self._build_urn(self._rule_for_namespace(name.namespace), self._platform_name(name))

    def _build_urn(self, rule: PlatformRule, place: PlatformName) -> str:
        instance = rule.platform_instance or self._given.dataset_instance
        name = f"{instance}.{place.name}" if instance else place.name
        name = name.lower() if self._given.lower_case else name
        platform = escape_urn(rule.platform or place.platform)
        return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{escape_urn(name)},{rule.env or self._given.env})"

    def _rule_for_namespace(self, namespace: str) -> PlatformRule:
        return next((each for each in self._given.platforms if fnmatchcase(namespace, each.namespace)), _DEFAULT_RULE)

    def _platform_name(self, name: Name) -> PlatformName:
        scheme, is_uri, _ = name.namespace.partition("://")
        scheme = scheme.lower()
        if not is_uri:
            return PlatformName(name.namespace, name.name)
        if scheme not in _FILES:
            return PlatformName(_RENAMED.get(scheme, scheme), name.name)
        address = self._table_address(_address_of_name(name))
        if self._given.naming == "sources" and (found := _source_name(address)):
            return found
        path = address.partition("://")[2].rstrip("/")
        return PlatformName(_FILES[scheme], path if scheme == "file" else path.removeprefix("/"))

    def _table_address(self, address: str) -> str:
        """Cut an address after its table if a path spec matches, or remove a partition from its end (D3)."""
        parts = address.split("/")
        for spec in self._specs:
            until = spec.index("{table}") + 1 if "{table}" in spec else len(spec)
            if len(parts) >= until and all(
                asked in ("*", "{table}", part) for asked, part in zip(spec[:until], parts, strict=False)
            ):
                return "/".join(parts[:until])
        return self._partition.sub("", address) if self._partition else address


def field_urn(dataset: str, field: str) -> str:
    """Return the URN of a column."""
    return f"urn:li:schemaField:({dataset},{escape_urn(field)})"


def _address_of_name(name: Name) -> str:
    return f"{name.namespace.rstrip('/') if name.namespace[-3:] != '://' else name.namespace}/{name.name.lstrip('/')}"


def _match_onelake(address: str) -> re.Match[str] | None:
    return _ONELAKE.fullmatch(address.partition("://")[2].rstrip("/"))


def _source_name(address: str) -> PlatformName | None:
    """Return the name that DataHub's own sources for Fabric and Azure storage use; None for other storage."""
    if found := _match_onelake(address):
        workspace, item, schema, table = found.groups()
        return PlatformName("fabric-onelake", f"{workspace}.{item}.{schema or 'dbo'}.{table}")
    scheme, _, rest = address.partition("://")
    if _FILES[scheme.lower()] != "abs":
        return None
    container, _, account_and_path = rest.rstrip("/").partition("@")
    path, extension = posixpath.splitext(f"{container}/{account_and_path.partition('/')[2]}".rstrip("/"))
    return PlatformName("abs", f"{path}_{extension[1:]}" if extension else path)
