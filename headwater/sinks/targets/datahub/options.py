"""Options of the type `datahub`, with the names of DataHub's Spark agent without the prefix `spark.datahub.`."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from headwater.sinks.connecting.folders import AZURE_FOLDER
from headwater.sinks.connecting.http import HttpOptions
from headwater.sinks.interface.options import BARE_ADDRESS, ConfigModel, Pause, Seconds, SecretReference, Silence
from headwater.sinks.targets.kafka import KafkaSettings


def _as_list(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _check_pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"invalid regular expression: {error}") from error
    return value


def _check_path_spec(value: str) -> str:
    if value.count("{table}") != 1 or "://" not in value:
        raise ValueError(
            f"{value!r} is not a path spec; write an address with one `{{table}}`, such as s3://bucket/*/{{table}}"
        )
    return value


Listed = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
Env = Literal[
    "CERT", "CORP", "DEV", "EI", "NON_PROD", "PRD", "PRE", "PROD", "QA", "RVW", "SANDBOX", "SBX", "SIT", "STG", "TEST",
    "TST", "UAT",
]  # fmt: skip


class PlatformRule(ConfigModel):
    """Platform, instance and environment of datasets in some namespaces; omitted values keep their defaults."""

    namespace: str = Field(description="Namespace as sent, or a pattern with `*`, `?`, `[…]`.")
    platform: str | None = None
    platform_instance: str | None = None
    env: Env | None = None


class DataHubOptions(HttpOptions):
    """Options of the type `datahub`; `url` is the address of its metadata service (GMS), not of its web page."""

    type: Literal["datahub"]
    emitter: Literal["rest", "kafka", "file", "s3", "adls"] = Field("rest", description="How proposals are sent.")
    url: str = Field("", pattern=f"^$|{BARE_ADDRESS}", description="Address of the metadata service, for `rest`.")
    bootstrap: str = Field("", alias="kafka.bootstrap", description="`host:port`, separated by commas, for `kafka`.")
    schema_registry: str = Field(
        "",
        alias="kafka.schema_registry_url",
        pattern=f"^$|{BARE_ADDRESS}",
        description="Schema registry, for `kafka`; `key` and `headers` are for it.",
    )
    mcp_topic: str = Field(
        "MetadataChangeProposal_v1", alias="kafka.mcp_topic", pattern=r"^[a-zA-Z0-9._-]+$", description="Topic."
    )
    producer_config: KafkaSettings = Field(
        {}, alias="kafka.producer_config", description="Settings of librdkafka for reaching the servers."
    )
    filename: Path | None = Field(None, alias="file.filename", description="File to append to, for `file`.")
    bucket: str = Field("", alias="s3.bucket", pattern=r"^[^/\s]*$", description="Bucket, for `s3`.")
    prefix: str = Field("", alias="s3.prefix", description="Folder in the bucket.")
    region: str | None = Field(None, alias="s3.region", description="Region of the bucket; default: from this machine.")
    endpoint: str | None = Field(
        None, alias="s3.endpoint", pattern=BARE_ADDRESS, description="Address of a service compatible with S3."
    )
    profile: str | None = Field(None, alias="s3.profile", description="AWS profile.")
    access_key: str | SecretReference | None = Field(
        None, alias="s3.access_key", description="Access key; default: credentials of this machine."
    )
    secret_key: SecretReference | None = Field(None, alias="s3.secret_key", description="Secret for `s3.access_key`.")
    adls_folder: str = Field(
        "",
        alias="adls.folder",
        pattern=f"^({AZURE_FOLDER})?$",
        description="Address of a folder in Azure storage, for `adls`.",
    )
    adls_options: dict[str, str | SecretReference] = Field(
        {},
        alias="adls.options",
        description="`account_name` and `account_key`, or `sas_token`; default: the Azure identity of this process.",
    )
    log_mcps: bool = Field(False, alias="log.mcps", description="Also write each proposal to the log.")
    coalesce_jobs: bool = Field(True, description="Send a Spark application as one job, when it ends or is idle.")
    idle: Seconds = Field(600.0, description="Silence after which an application without an end is sent.")
    stage_metadata_coalescing: bool = Field(False, description="Also send it while it runs, once per batch.")
    streaming_job: bool = Field(False, description="Do not wait for ends: send runs and applications by heartbeat.")
    streaming_heartbeat: Seconds = Field(300.0, description="Minimum time between two heartbeats.")
    every: Pause = Field(5.0, description="Minimum time between two batches; a run is sent once per batch.")
    asynchronous: bool = Field(False, description="Let DataHub respond before it has processed a proposal.")
    naming: Literal["converter", "sources"] = Field(
        "converter", description="Names of Azure tables: as in DataHub's OpenLineage converter, or as in its sources."
    )
    platforms: tuple[PlatformRule, ...] = Field((), description="Rules for namespaces; the first match applies.")
    path_specs: Annotated[tuple[Annotated[str, AfterValidator(_check_path_spec)], ...], BeforeValidator(_as_list)] = (
        Field((), description="Where a table ends in a path, such as `s3://bucket/*/{table}`; the first match applies.")
    )
    file_partition_regexp: Annotated[str, AfterValidator(_check_pattern)] | None = Field(
        None, description="Regular expression for the end of a path that is a partition."
    )
    orchestrator: str | None = Field(None, description="Platform of all jobs; default: each job's engine.")
    flow_name: str | None = Field(None, description="Name of the flow; default: the job's name up to its first dot.")
    tags: Listed = Field((), description="Tags of flows.")
    domains: Annotated[tuple[Annotated[str, Field(pattern="^urn:li:domain:")], ...], BeforeValidator(_as_list)] = Field(
        (), description="URNs of the domains of flows."
    )
    parent_job: str | None = Field(
        None, alias="parent.datajob_urn", pattern="^urn:li:dataJob:", description="Upstream job of every job."
    )
    patch: bool = Field(False, alias="patch.enabled", description="Add to existing lineage instead of replacing it.")
    materialize: bool = Field(
        False, alias="metadata.dataset.materialize", description="Also send datasets with tags and upstream lineage."
    )
    schemas: bool = Field(
        False, alias="metadata.dataset.include_schema_metadata", description="Also send the schemas of datasets."
    )
    env: Env = Field("PROD", alias="metadata.dataset.env", description="Environment of datasets.")
    dataset_instance: str | None = Field(
        None, alias="metadata.dataset.platformInstance", description="Platform instance of datasets."
    )
    flow_instance: str | None = Field(
        None, alias="metadata.pipeline.platformInstance", description="Platform instance of flows."
    )
    hive: str = Field("hive", alias="metadata.dataset.hivePlatformAlias", description="Platform of metastore tables.")
    lower_case: bool = Field(False, alias="metadata.dataset.lowerCaseUrns", description="Dataset names in lower case.")
    by_path: bool = Field(
        False,
        alias="disableSymlinkResolution",
        description="Name datasets by path, not by table symlink.",
    )

    @property
    def silence(self) -> Silence | None:
        """Report an application without an end after this silence."""
        waits = self.coalesce_jobs and not self.stage_metadata_coalescing and not self.streaming_job
        return Silence(self.idle, by_receipt=True) if waits else None

    @model_validator(mode="after")
    def _check_emitter(self) -> Self:
        needed: dict[str, dict[str, str | Path | None]] = {
            "rest": {"url": self.url},
            "kafka": {"kafka.bootstrap": self.bootstrap, "kafka.schema_registry_url": self.schema_registry},
            "file": {"file.filename": self.filename},
            "s3": {"s3.bucket": self.bucket},
            "adls": {"adls.folder": self.adls_folder},
        }
        if missing := [name for name, value in needed[self.emitter].items() if not value]:
            raise ValueError(f"`emitter: {self.emitter}` needs {' and '.join(missing)}")
        return self
