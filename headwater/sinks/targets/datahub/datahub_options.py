"""Options of the type `datahub`: those that its Spark agent has are called as there, without `spark.datahub.`."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from headwater.sinks.connecting.http_options import BARE_ADDRESS, HttpOptions
from headwater.sinks.contract.sink_options import Part, Pause, Seconds, SecretReference, Silence
from headwater.sinks.targets.file_target import AZURE_FOLDER
from headwater.sinks.targets.kafka_target import KafkaSettings


def _listed(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return value


def _path_spec(value: str) -> str:
    if value.count("{table}") != 1 or "://" not in value:
        raise ValueError(
            f"{value!r} is no path spec; write an address with one `{{table}}`, as s3://bucket/*/{{table}}"
        )
    return value


Listed = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Env = Literal[
    "CERT", "CORP", "DEV", "EI", "NON_PROD", "PRD", "PRE", "PROD", "QA", "RVW", "SANDBOX", "SBX", "SIT", "STG", "TEST",
    "TST", "UAT",
]  # fmt: skip


class PlatformRule(Part):
    """What datasets of some namespaces are in DataHub; what it does not say stays as it would be without it."""

    namespace: str = Field(description="Namespace as sent, or a pattern with `*`, `?`, `[…]`.")
    platform: str | None = None
    platform_instance: str | None = None
    env: Env | None = None


class DataHubOptions(HttpOptions):
    """Options of the type `datahub`; `url` is its metadata service (GMS), not its page."""

    type: Literal["datahub"]
    emitter: Literal["rest", "kafka", "file", "s3", "adls"] = Field(
        "rest", description="How proposals are handed over."
    )
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
    filename: Path | None = Field(None, alias="file.filename", description="File that grows, for `file`.")
    bucket: str = Field("", alias="s3.bucket", pattern=r"^[^/\s]*$", description="Bucket, for `s3`.")
    prefix: str = Field("", alias="s3.prefix", description="Where in it files lie.")
    region: str | None = Field(None, alias="s3.region", description="Region of the bucket; else as the machine says.")
    endpoint: str | None = Field(
        None, alias="s3.endpoint", pattern=BARE_ADDRESS, description="Address of what only speaks S3's protocol."
    )
    profile: str | None = Field(None, alias="s3.profile", description="Profile of AWS.")
    access_key: str | SecretReference | None = Field(
        None, alias="s3.access_key", description="Else as the machine says."
    )
    secret_key: SecretReference | None = Field(None, alias="s3.secret_key", description="Belongs to `s3.access_key`.")
    adls_folder: str = Field(
        "",
        alias="adls.folder",
        pattern=f"^({AZURE_FOLDER})?$",
        description="Address of a folder in Azure's storage, for `adls`.",
    )
    adls_options: dict[str, str | SecretReference] = Field(
        {}, alias="adls.options", description="`account_name` and `account_key`, or `sas_token`; else the identity."
    )
    log_mcps: bool = Field(False, alias="log.mcps", description="Write each proposal into the log, too.")
    coalesce_jobs: bool = Field(True, description="Tell a Spark application as one job, when it ends or is idle.")
    idle: Seconds = Field(600.0, description="Silence after which an application that has not ended is told.")
    stage_metadata_coalescing: bool = Field(False, description="Tell it also while it runs, once a batch.")
    streaming_job: bool = Field(False, description="Wait for no end: tell runs and applications by heartbeat.")
    streaming_heartbeat: Seconds = Field(300.0, description="Least time between two of these.")
    every: Pause = Field(5.0, description="Least time between two batches: a run is sent once for each.")
    asynchronous: bool = Field(False, description="Let DataHub answer before it has looked at a proposal.")
    naming: Literal["converter", "sources"] = Field(
        "converter", description="Names of Azure's tables: as DataHub's OpenLineage converter says, or its sources."
    )
    platforms: tuple[PlatformRule, ...] = Field((), description="Rules for namespaces; the first that fits counts.")
    path_specs: Annotated[tuple[Annotated[str, AfterValidator(_path_spec)], ...], BeforeValidator(_listed)] = Field(
        (), description="Where in a path a table ends, such as `s3://bucket/*/{table}`; the first that fits counts."
    )
    file_partition_regexp: Annotated[str, AfterValidator(_pattern)] | None = Field(
        None, description="End of a path that is a partition, not the table."
    )
    orchestrator: str | None = Field(None, description="Platform of all jobs, instead of each one's engine.")
    flow_name: str | None = Field(None, description="Name of the flow, instead of the job's up to its first dot.")
    tags: Listed = Field((), description="Tags of flows.")
    domains: Annotated[tuple[Annotated[str, Field(pattern="^urn:li:domain:")], ...], BeforeValidator(_listed)] = Field(
        (), description="URNs of domains of flows."
    )
    parent_job: str | None = Field(
        None, alias="parent.datajob_urn", pattern="^urn:li:dataJob:", description="Job behind which each job comes."
    )
    patch: bool = Field(False, alias="patch.enabled", description="Add lineage to what is there, take nothing away.")
    materialize: bool = Field(
        False, alias="metadata.dataset.materialize", description="Datasets, their tags and upstream lineage, too."
    )
    schemas: bool = Field(
        False, alias="metadata.dataset.include_schema_metadata", description="Schemas, where datasets are sent."
    )
    env: Env = Field("PROD", alias="metadata.dataset.env", description="Environment of datasets.")
    dataset_instance: str | None = Field(
        None, alias="metadata.dataset.platformInstance", description="Platform instance of datasets."
    )
    flow_instance: str | None = Field(
        None, alias="metadata.pipeline.platformInstance", description="Platform instance of flows."
    )
    hive: str = Field("hive", alias="metadata.dataset.hivePlatformAlias", description="Platform of metastore tables.")
    lower_case: bool = Field(False, alias="metadata.dataset.lowerCaseUrns", description="Datasets in lower case.")
    by_path: bool = Field(
        False,
        alias="disableSymlinkResolution",
        description="Call datasets by path, not by the table they are known as.",
    )

    @property
    def silence(self) -> Silence | None:
        """An application that has not ended is told when nothing was heard of it."""
        waits = self.coalesce_jobs and not self.stage_metadata_coalescing and not self.streaming_job
        return Silence(self.idle, by_receipt=True) if waits else None

    @model_validator(mode="after")
    def _can_emit(self) -> Self:
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
