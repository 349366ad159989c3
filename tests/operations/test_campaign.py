"""Run the short campaign of `python -m bench.campaign` against a running Headwater."""

import pytest

from tests.support.faults.campaign import Campaign, Chronicle, besiege
from tests.support.producers import LOW_RATE


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nothing_acknowledged_is_lost_or_doubled_by_faults_drawn_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Campaign, "rate", LOW_RATE)
    Campaign.chronicle = done = Chronicle()
    besiege(seed=20261123, episodes=2, steps=4)
    assert done.episodes == 2
    assert done.faults.total() > 4
    assert done.acknowledged >= done.stored > 100
