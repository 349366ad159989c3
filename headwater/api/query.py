"""Parameters of a request: the ones a question takes, numbers, words that mean yes or no."""

from collections.abc import Iterable, Mapping, Sequence

from headwater.errors import WrongQuestion


def check_names(question: str, parameters: Iterable[str], allowed: Sequence[str]) -> None:
    """Raise WrongQuestion for a parameter that a question does not take; `code` is the key's."""
    for name in parameters:
        if name not in allowed and name != "code":
            taken = f"It takes {', '.join(allowed)}." if allowed else "It takes none."
            raise WrongQuestion(f"{question} takes no parameter {name[:40]!r}. {taken}")


def number(parameters: Mapping[str, str], name: str) -> int | None:
    """Read a parameter that is a number; raises WrongQuestion where it is none."""
    text = parameters.get(name)
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise WrongQuestion(f"{name}={text[:40]!r} is no number. Write it like 100.")
    return int(text)


def flag(parameters: Mapping[str, str], name: str) -> bool:
    """Read a parameter that is true or false, false where it is left out."""
    text = parameters.get(name) or "false"
    if text not in ("true", "false"):
        raise WrongQuestion(f"{name}={text[:40]!r} is neither true nor false.")
    return text == "true"
