"""Files of Power BI to declarations: scan results, and lists of semantic link for one model (pure)."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from headwater.declarations.declaration_file import DeclarationFile
from headwater.declarations.powerbi.model_declaration import model_declaration
from headwater.declarations.powerbi.scan_result import models_of_scan
from headwater.declarations.powerbi.semantic_link import read_list
from headwater.declarations.powerbi.semantic_model import SemanticModel
from headwater.errors import WrongSetting


def read_powerbi(
    files: Iterable[tuple[str, bytes]], workspace: str | None, model: str | None, say: Callable[[str], None]
) -> list[DeclarationFile]:
    """Return a declaration for each model; files: name and content. Raises WrongSetting for what is neither.

    workspace, model: of the lists, which name neither.
    """
    found: list[SemanticModel] = []
    listed: SemanticModel | None = None
    for file, content in files:
        if file.casefold().endswith(".csv"):
            if not workspace or not model:
                raise WrongSetting(f"{file} does not say of which model it is. Add --workspace NAME --model NAME.")
            listed = listed or SemanticModel(workspace, model)
            read_list(listed, _text(file, content), file)
        else:
            found += _scanned(file, content)
    return [model_declaration(each, say) for each in (*found, *([listed] if listed else []))]


def _scanned(file: str, content: bytes) -> list[SemanticModel]:
    try:
        scan: Any = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except msgspec.DecodeError as error:
        raise WrongSetting(f"{file} is no JSON: {error}. Name the answer of scanResult, or lists as .csv.") from error
    if not isinstance(scan, dict) or not isinstance(scan.get("workspaces"), list):
        raise WrongSetting(
            f"{file} has no `workspaces`: it is no scan result. Ask the admin API with getInfo?datasetSchema=true"
            "&datasetExpressions=true&lineage=true, and take what scanResult answers."
        )
    return [*models_of_scan(scan)]


def _text(file: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise WrongSetting(f"{file} is no UTF-8 ({error.reason}). Write it with DataFrame.to_csv.") from error
