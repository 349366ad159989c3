"""Report missing optional dependencies, which `pip install 'headwater[EXTRA]'` installs."""

from collections.abc import Iterator
from contextlib import contextmanager

from headwater.common.errors import WrongSetting


@contextmanager
def require_extra(name: str) -> Iterator[None]:
    """Guard imports of optional packages. Raises WrongSetting with the install command if a package is missing.

    name: the extra that contains the packages.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "headwater").startswith("headwater"):
            raise
        raise WrongSetting(
            f"The Python package of `{error.name}` is missing. Run `pip install 'headwater[{name}]'`."
        ) from error
