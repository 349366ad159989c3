"""Names in paths that a proxy has decoded are matched like with a pattern, but in time linear in the path's length."""

import itertools
import re

import pytest

from headwater.api.marquez.routes import match_path, split_route

ROUTES = ["jobs", "tags/{tag}", "n/{a}/d", "n/{a}/d/{b}", "n/{a}/d/{b}/v", "n/{a}/d/{b}/f/{c}/t/{d}"]
PARTS = ["n/", "/d", "/d/", "/v", "/f/", "/t/", "x", "/"]


@pytest.mark.parametrize("route", ROUTES)
def test_a_path_is_read_as_a_pattern_reads_it(route: str) -> None:
    pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>.+)", route), re.DOTALL)
    paths = ["n/" + "".join(parts) for length in range(1, 6) for parts in itertools.product(PARTS, repeat=length)]
    paths += ["jobs", "tags/a/b", "n/x/d/x/f/x/t/x", "n/x/d/d/x/f//f/x/t/t/t/x"]
    for path in paths:
        match = pattern.fullmatch(path)
        assert match_path(path, split_route(route)) == (match and match.groupdict()), path


@pytest.mark.timeout(60)
def test_an_address_as_long_as_a_server_takes_is_read_at_once() -> None:
    """With a pattern, 7 KB took 1.2 s and 60 KB ten minutes, in the thread that also receives events."""
    path = "n/" + "/d/" * 10_000 + "/f/" * 10_000
    assert match_path(path, split_route("n/{a}/d/{b}/f/{c}/t/{d}")) is None
