"""The costs on Azure in docs/how-to/platform-operator/azure.md follow from the prices and tiers."""

import pytest

from tests.infra.templates import ROOT
from tools.azure_cost import (
    CASES,
    EUR_PER_USD,
    REGION,
    USD,
    Tier,
    api_line,
    bill,
    deliveries,
    sinks_bill,
    summary,
    throughput_units,
    total_eur,
)

SMALL, STANDARD = Tier.read("small"), Tier.read("standard")


def lines(tier: Tier, events: int) -> dict[str, float]:
    return {line.what: line.usd for line in bill(tier, events)}


def test_the_page_shows_what_is_computed() -> None:
    page = (ROOT / "docs/how-to/platform-operator/azure.md").read_text()
    assert summary() in page, (
        "run `python -m tools.azure_cost` and put its first table into docs/how-to/platform-operator/azure.md"
    )


def test_the_way_at_the_head_of_the_page_shows_the_small_tiers_bill() -> None:
    head = (ROOT / "docs/how-to/platform-operator/azure.md").read_text().partition("Two function apps")[0]
    found = bill(SMALL, 10_000)
    assert [line.what for line in found if f"{line.usd:.2f}" not in head] == []
    assert f"{sum(line.usd for line in found):.2f} (€ {total_eur(found):.2f})" in head


def test_the_small_tier_stays_within_its_goals() -> None:
    assert {events for name, events in CASES if name == "small"} == {1_000, 10_000, 100_000, 1_000_000}
    assert 20 <= total_eur(bill(SMALL, 10_000)) <= 50
    assert total_eur(bill(SMALL, 1_000_000)) <= 90


def test_a_bill_by_hand() -> None:
    """1,000 events a day in the small tier, calculated by hand."""
    found = lines(SMALL, 1_000)
    assert found["Event Hubs"] == pytest.approx(730 * 0.03 + 0.0304 * 0.028)
    assert found["Receiver"] == pytest.approx(
        0.5 * 2_628_000 * (0.000004 + 0.01150713 * 0.000016) + 0.0304 * 0.40, rel=1e-4
    )
    assert found["Parser, maintenance"] == pytest.approx(((1_000 + 480) * 30.4 * 2 * 2 - 100_000) * 0.000026)
    assert found["Storage"] == pytest.approx(1_000 * 8 * 0.12 * 365 / 1e6 * 0.0208)
    commits, leases = 1_000 * 3 * 30.4, 2_880 * 3 * 30.4
    requests = commits * (3 * 0.065 + 2 * 0.0052) + (leases + 30_400) * 0.05
    assert found["Requests to storage"] == pytest.approx(requests / 10_000)
    assert found["Logs and alerts"] == pytest.approx(6 * 0.50 + 0.10)
    assert total_eur(bill(SMALL, 1_000)) == pytest.approx(sum(found.values()) * REGION * EUR_PER_USD)


def test_an_api_that_never_sleeps_by_hand() -> None:
    assert api_line(0).usd == pytest.approx(2 * 2_628_000 * 0.000004)
    assert api_line(24).usd == pytest.approx(2 * 2_628_000 * (0.000004 + 0.000016))


def test_a_bill_of_sinks_by_hand() -> None:
    """1,000 events a day in the small tier: 1,440 runs a day, and 1,000 of them find an event."""
    runs, storage, watch = (line.usd for line in sinks_bill(SMALL, 1_000))
    assert runs == pytest.approx((1_440 * 2 + 1) * 30.4 * 2 * 0.000026 + 1_440 * 30.4 * 0.4 / 1e6)
    lists, reads = (440 * 6 + 1_000 * 15) * 30.4, (440 * 70 + 1_000 * 130) * 30.4
    assert storage == pytest.approx((lists * 0.065 + reads * 0.0052) / 10_000)
    assert watch == pytest.approx(1_440 * 30.4 * 5 / 1e6 * 2.3 + 3 * 0.5)


def test_every_price_but_optional_ones_is_in_a_bill() -> None:
    """Raising a price must raise some bill. Otherwise the table contains a price that is not used."""
    for what in USD.keys() - {"private endpoint, hour", "capture, throughput unit and hour"}:
        before = [total_eur(bill(Tier.read(name), events)) for name, events in CASES]
        USD[what] *= 2
        try:
            after = [total_eur(bill(Tier.read(name), events)) for name, events in CASES]
        finally:
            USD[what] /= 2
        assert after != before, what


def test_flushes_bound_the_work_and_the_peak_sets_the_units() -> None:
    assert deliveries(SMALL, 10) == 10
    assert deliveries(SMALL, 10**9) == SMALL.partitions * 86_400 // SMALL.flush_s
    assert throughput_units(SMALL, 1_000) == 1
    assert throughput_units(STANDARD, 10_000_000) == 4


def test_more_events_never_cost_less() -> None:
    for tier in (SMALL, STANDARD):
        totals = [total_eur(bill(tier, 10**power)) for power in range(2, 9)]
        assert totals == sorted(totals)
