"""Chooses the file source for a path by the scheme of the path."""

from collections.abc import Mapping
from pathlib import Path

from headwater.common.errors import WrongSetting
from headwater.intake.files.sources.file_source import FileSource
from headwater.intake.files.sources.local_files import LocalFiles


def open_file_source(path: str, options: Mapping[str, str], client_id: str | None) -> FileSource:
    """Return the file source for a path. Raises WrongSetting if no module of this package reads the scheme of the path.

    options, client_id: credentials for a store in Azure; see `AzureFiles`.
    """
    scheme, _, rest = path.partition("://")
    if not rest:
        return LocalFiles(Path(path))
    if scheme == "file":
        return LocalFiles(Path("/" + rest.partition("/")[2]))
    if scheme in ("abfss", "https"):
        from headwater.intake.files.sources.azure_files import AzureFiles  # noqa: PLC0415 - 0.5 s of imports

        return AzureFiles(path, options, client_id)
    raise WrongSetting(
        f"{path!r}: {scheme}:// is not supported here. Give a local or mounted folder, or abfss://…; "
        "`headwater-spark ingest` reads everything that Spark reads, such as s3a:// and hdfs://."
    )
