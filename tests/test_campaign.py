"""Episodes of the campaign against a running Headwater: the short one of `python -m bench.campaign`."""

import pytest

from tests.campaign import Campaign, Chronicle, besiege
from tests.few_of_many import few_of


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("steps", few_of([4, 6], 1))
def test_nothing_acknowledged_is_lost_or_doubled_by_faults_drawn_at_random(steps: int) -> None:
    Campaign.chronicle = done = Chronicle()
    besiege(seed=20261123, episodes=2, steps=steps)
    assert done.episodes == 2
    assert done.faults.total() > steps
    assert done.acknowledged >= done.stored > 100
