"""Reads Power BI files: scan results, and lists of semantic link for one model. No I/O."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from headwater.common.errors import WrongSetting
from headwater.governance.declarations.declaration_file import DeclarationFile
from headwater.governance.declarations.powerbi.model_declaration import model_declaration
from headwater.governance.declarations.powerbi.scan_result import models_of_scan
from headwater.governance.declarations.powerbi.semantic_link import read_list
from headwater.governance.declarations.powerbi.semantic_model import SemanticModel


def read_powerbi(
    files: Iterable[tuple[str, bytes]], workspace: str | None, model: str | None, say: Callable[[str], None]
) -> list[DeclarationFile]:
    """Return a declaration for each model. files: name and content. Raises WrongSetting for unknown files.

    workspace, model: of the lists, which do not contain them.
    """
    found: list[SemanticModel] = []
    listed: SemanticModel | None = None
    for file, content in files:
        if file.casefold().endswith(".csv"):
            if not workspace or not model:
                raise WrongSetting(f"{file} does not name its model. Add --workspace NAME --model NAME.")
            listed = listed or SemanticModel(workspace, model)
            read_list(listed, _text(file, content), file)
        else:
            found += _scanned(file, content)
    return [model_declaration(each, say) for each in (*found, *([listed] if listed else []))]


def _scanned(file: str, content: bytes) -> list[SemanticModel]:
    try:
        scan: Any = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except msgspec.DecodeError as error:
        raise WrongSetting(
            f"{file} is not valid JSON: {error}. Use the response of scanResult, or lists as .csv files."
        ) from error
    if not isinstance(scan, dict) or not isinstance(scan.get("workspaces"), list):
        raise WrongSetting(
            f"{file} has no `workspaces`, so it is not a scan result. Call the admin API getInfo?datasetSchema=true"
            "&datasetExpressions=true&lineage=true, and save the response of scanResult."
        )
    return [*models_of_scan(scan)]


def _text(file: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise WrongSetting(f"{file} is not valid UTF-8 ({error.reason}). Write it with DataFrame.to_csv.") from error
