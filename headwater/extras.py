"""What `pip install 'headwater[EXTRA]'` brings: the wheel alone carries the rules and the steps of Spark, no more."""

from collections.abc import Iterator
from contextlib import contextmanager

from headwater.errors import WrongSetting


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import inside what an extra brings; raises WrongSetting that says how to install it where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "headwater").startswith("headwater"):
            raise
        raise WrongSetting(
            f"The Python package of `{error.name}` is missing. Run `pip install 'headwater[{name}]'`."
        ) from error
