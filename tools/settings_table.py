"""Print the table of docs/settings.md from the model, so that both say the same."""

from pathlib import Path

from headwater.common.environment import variable_name
from headwater.operations.settings import Settings


def main() -> None:
    """Write the table to standard output."""
    print("| setting | variable | default | what it is |")
    print("|---|---|---|---|")
    for name, field in Settings.model_fields.items():
        default = field.default
        value = str(default) if isinstance(default, Path) else repr(default).replace("'", '"')
        shown = "" if default is None else f"`{value}`"
        print(f"| `{name}` | `{variable_name(name)}` | {shown} | {field.description} |")


if __name__ == "__main__":
    main()
