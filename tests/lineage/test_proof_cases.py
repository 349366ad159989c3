"""Small inputs modelled on public bug reports. The reference and the index answer each one correctly."""

import pytest

from tests.proof.campaign import JUDGES
from tests.proof.case_checks import LineageCase, lineage_cases
from tests.proof.open_points import open_cases

pytestmark = pytest.mark.slow


def parameters() -> list[object]:
    """Return the cases. Those listed as open must fail."""
    still_open = open_cases()
    marks = [pytest.mark.xfail(strict=True, raises=AssertionError, reason="open in tests/proof/open.toml")]
    return [
        pytest.param(each, id=each.name, marks=marks if each.name in still_open else []) for each in lineage_cases()
    ]


@pytest.mark.parametrize("judge", ["reference", "index"])
@pytest.mark.parametrize("case", parameters())
def test_case_is_answered_correctly(case: LineageCase, judge: str) -> None:
    assert case.wrong_answers(JUDGES[judge]) == []


def test_every_input_has_answers_and_every_open_case_is_a_case() -> None:
    known = {case.name for case in lineage_cases()}
    assert known >= open_cases()
    assert all(case.checks for case in lineage_cases())
