"""Compute the monthly cost of Headwater on Azure from the parameter files and the prices in this module.

`python -m tools.azure_cost` prints the tables, and `python -m tools.reference` writes them to
docs/reference/azure-costs.md. The prices are public list prices; replace them with yours.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BICEP = Path(__file__).parents[1] / "infra" / "bicep"

PRICES_AS_OF = "assumed for November 2026, East US, US dollars, pay as you go, without tax"
EUR_PER_USD = 0.92
REGION = 1.10
"""Prices in West Europe are up to a tenth higher than in East US."""

HOURS, DAYS, SECONDS = 730, 30.4, 2_628_000
"""The length of a month in each unit."""

USD = {
    "throughput unit, hour": 0.030,
    "events in, million": 0.028,
    "capture, throughput unit and hour": 0.10,
    "always ready, GB-s": 0.000004,
    "executing while always ready, GB-s": 0.000016,
    "executing on demand, GB-s": 0.000026,
    "executions, million": 0.40,
    "storage, GB": 0.0208,
    "lake writes and lists, 10,000": 0.065,
    "lake reads, 10,000": 0.0052,
    "host storage writes and lists, 10,000": 0.05,
    "logs, GB": 2.30,
    "log alert every 15 minutes": 0.50,
    "log alert every 5 minutes": 1.50,
    "metric alert": 0.10,
    "private endpoint, hour": 0.01,
}
FREE = {"GB-s on demand": 100_000, "executions on demand": 250_000, "GB of logs": 5}

EVENT_KB = 8
PEAK = 4
"""Ratio of the busiest minute to the mean of the day."""
LAKE_SHARE = 0.12
"""Bytes in the lake per byte of events (docs/explanation/benchmarks.md: 9 to 12 %)."""
KEPT_DAYS = 365
REQUESTS_A_SECOND = 100
"""Assumed rate of one receiver instance. The receiver itself handles thousands (docs/explanation/benchmarks.md); the
overhead of the Functions host is unknown."""
DELIVERY_S = 2.0
"""Duration of one parser execution, including the clients that it opens and the storage; not measured on Azure."""
TIMERS_A_DAY = 86_400 // 300 + 86_400 // 600 + 2 * (86_400 // 3600)
"""Timer executions per day: catch_up, compact, vacuum, snapshot."""
TABLES_A_COMMIT = 3
WRITES_A_COMMIT, READS_A_COMMIT = 3, 2
"""Storage requests for one commit of a table: five, counted with Azurite."""
LEASE_S = 30
"""How often a partition's owner renews its lease and checks the others: the default of Azure.Messaging.EventHubs."""
TRACE_KB = 5
PARSER_GB = 2
HUB_METRICS_GB_A_DAY = 0.015
SINK_RUNS_A_DAY = 1440
"""Executions of the sink timer per day."""
SINK_RUN_S, SINK_EVENTS_A_SECOND = 2.0, 1000
"""Duration of a run without new events, and rate of one sink; neither was measured on Azure."""
SINKS_GB = 2
IDLE_LISTS, IDLE_READS = 6, 70
SINK_LISTS, SINK_READS = 15, 130
"""Storage requests of a run with one sink, without and with new events, counted with Azurite.

Each commit adds three reads until the hourly checkpoint (7 and 35 on a new table). These are means over the hour.
"""
LOG_ALERTS = 6
SINK_ALERTS = 3


@dataclass(frozen=True)
class Tier:
    """The resources that a parameter file requests."""

    name: str
    throughput_units: int
    partitions: int
    flush_s: int
    capture: bool
    capture_days: int
    receiver_gb: float
    zones: bool
    alert_minutes: int
    traces_a_second: float

    @classmethod
    def read(cls, name: str) -> "Tier":
        """Read a tier from its parameter file, with the defaults of main.bicep."""
        found = dict(re.findall(r"(?m)^param (\w+) \w+ = (\S+)$", (BICEP / "main.bicep").read_text()))
        found |= dict(re.findall(r"(?m)^param (\w+) = (\S+)$", (BICEP / f"{name}.bicepparam").read_text()))
        return cls(
            name,
            int(found["throughputUnits"]),
            int(found["partitions"]),
            int(found["flushSeconds"]),
            found["capture"] == "true",
            int(found["captureDays"]),
            int(found["receiverMemory"]) / 1024,
            "ZRS" in found["lakeSku"],
            int(found["alertMinutes"]),
            float(found["receiverTracesPerSecond"].strip("'")),
        )


@dataclass(frozen=True)
class Line:
    """One line of a bill: the item, its calculation, and US dollars per month."""

    what: str
    how: str
    usd: float


def bill(tier: Tier, events: int) -> list[Line]:
    """Return the bill of a month with `events` events per day."""
    return [
        *_hub(tier, events),
        *_receiver(tier, events),
        *_parser(tier, events),
        *_lake(tier, events),
        *_watch(tier, events),
    ]


def total_eur(lines: list[Line]) -> float:
    """Return the sum in euros, with prices of West Europe."""
    return sum(line.usd for line in lines) * REGION * EUR_PER_USD


def throughput_units(tier: Tier, events: int) -> int:
    """Return the throughput units for the busiest minute; a unit accepts 1 MB or 1,000 events per second."""
    a_second = events / 86_400 * PEAK
    return max(tier.throughput_units, math.ceil(max(a_second * EVENT_KB / 1000, a_second / 1000)))


def deliveries(tier: Tier, events: int) -> int:
    """Return the parser runs per day: at most one per partition and flush interval, and none without events."""
    return min(events, tier.partitions * 86_400 // tier.flush_s)


def _hub(tier: Tier, events: int) -> Iterator[Line]:
    units, millions = throughput_units(tier, events), events * DAYS / 1e6
    yield Line(
        "Event Hubs",
        f"{units} TU x {HOURS} h, {millions:.2f} M events",
        units * HOURS * USD["throughput unit, hour"] + millions * USD["events in, million"],
    )
    if tier.capture:
        yield Line("Capture", f"{units} TU x {HOURS} h", units * HOURS * USD["capture, throughput unit and hour"])


def _receiver(tier: Tier, events: int) -> Iterator[Line]:
    instances = max(1, math.ceil(events / 86_400 / REQUESTS_A_SECOND))
    busy = 1 - math.exp(-events / 86_400)  # Azure bills each busy second once, however many requests share it
    gb_s = tier.receiver_gb * SECONDS
    extra = (instances - 1) * gb_s * busy
    millions = events * DAYS / 1e6
    usd = gb_s * USD["always ready, GB-s"] + gb_s * busy * USD["executing while always ready, GB-s"]
    usd += extra * USD["executing on demand, GB-s"] + millions * USD["executions, million"]
    yield Line(
        "Receiver",
        f"1 instance of {tier.receiver_gb:g} GB always ready, {instances - 1} more, busy {busy:.1%}; "
        f"{millions:.2f} M executions",
        usd,
    )


def _parser(tier: Tier, events: int) -> Iterator[Line]:
    runs = (deliveries(tier, events) + TIMERS_A_DAY) * DAYS
    gb_s = runs * DELIVERY_S * PARSER_GB
    usd = max(0.0, gb_s - FREE["GB-s on demand"]) * USD["executing on demand, GB-s"]
    usd += max(0.0, runs - FREE["executions on demand"]) / 1e6 * USD["executions, million"]
    yield Line(
        "Parser, maintenance", f"{runs:,.0f} executions x {DELIVERY_S:g} s x {PARSER_GB} GB, less the free grant", usd
    )


def _lake(tier: Tier, events: int) -> Iterator[Line]:
    gb = events * EVENT_KB * LAKE_SHARE * KEPT_DAYS / 1e6
    captured = events * EVENT_KB * tier.capture_days / 1e6 if tier.capture else 0
    zones = 1.25 if tier.zones else 1
    yield Line(
        "Storage",
        f"{gb:,.1f} GB of lake after a year, {captured:,.1f} GB captured{', in three zones' if tier.zones else ''}",
        (gb + captured) * USD["storage, GB"] * zones,
    )
    commits = deliveries(tier, events) * TABLES_A_COMMIT * DAYS
    leases = 86_400 / LEASE_S * (1 + tier.partitions) * DAYS
    usd = commits * WRITES_A_COMMIT / 1e4 * USD["lake writes and lists, 10,000"] * zones
    usd += commits * READS_A_COMMIT / 1e4 * USD["lake reads, 10,000"] * zones
    usd += (leases + deliveries(tier, events) * DAYS) / 1e4 * USD["host storage writes and lists, 10,000"]
    yield Line(
        "Requests to storage",
        f"{commits:,.0f} commits x {WRITES_A_COMMIT + READS_A_COMMIT}, {leases:,.0f} for the trigger's leases",
        usd,
    )


def _watch(tier: Tier, events: int) -> Iterator[Line]:
    traces = min(events, tier.traces_a_second * 86_400) + deliveries(tier, events) + TIMERS_A_DAY
    gb = (traces * TRACE_KB / 1e6 + HUB_METRICS_GB_A_DAY) * DAYS
    rules = LOG_ALERTS * USD[f"log alert every {tier.alert_minutes} minutes"] + USD["metric alert"]
    yield Line(
        "Logs and alerts",
        f"{gb:.1f} GB of logs, {FREE['GB of logs']} free; {LOG_ALERTS} log alerts, 1 metric alert",
        max(0.0, gb - FREE["GB of logs"]) * USD["logs, GB"] + rules,
    )


def api_line(busy_hours_a_day: int) -> Line:
    """Return the cost of one always-ready API instance, including its questions."""
    gb_s, busy = PARSER_GB * SECONDS, busy_hours_a_day / 24
    usd = gb_s * USD["always ready, GB-s"] + gb_s * busy * USD["executing while always ready, GB-s"]
    return Line("API", f"1 instance of {PARSER_GB} GB always ready, answers {busy_hours_a_day} h a day", usd)


def sinks_bill(tier: Tier, events: int) -> list[Line]:
    """Return the bill of the sinks app for a month with one sink that accepts all events, without the free grant."""
    delivering = min(events, SINK_RUNS_A_DAY)
    idle = SINK_RUNS_A_DAY - delivering
    busy_s = (SINK_RUNS_A_DAY * SINK_RUN_S + events / SINK_EVENTS_A_SECOND) * DAYS
    runs = SINK_RUNS_A_DAY * DAYS
    usd = busy_s * SINKS_GB * USD["executing on demand, GB-s"] + runs / 1e6 * USD["executions, million"]
    lists, reads = (DAYS * (idle * of_idle + delivering * of_one) for of_idle, of_one in _SINK_REQUESTS)
    zones = 1.25 if tier.zones else 1
    asked = (lists * USD["lake writes and lists, 10,000"] + reads * USD["lake reads, 10,000"]) / 1e4 * zones
    logs = runs * TRACE_KB / 1e6
    alerts = SINK_ALERTS * USD[f"log alert every {tier.alert_minutes} minutes"]
    return [
        Line("Runs", f"{runs:,.0f} runs, {busy_s:,.0f} s x {SINKS_GB} GB", usd),
        Line("Requests to storage", f"{lists:,.0f} writes and lists, {reads:,.0f} reads", asked),
        Line("Logs and alerts", f"{logs:.1f} GB of logs; {SINK_ALERTS} log alerts", logs * USD["logs, GB"] + alerts),
    ]


_SINK_REQUESTS = ((IDLE_LISTS, SINK_LISTS), (IDLE_READS, SINK_READS))

CASES = (("small", 1_000), ("small", 10_000), ("small", 100_000), ("small", 1_000_000), ("standard", 10_000_000))


def assumptions() -> list[str]:
    """Return the paragraphs of docs/reference/azure-costs.md that state what the tables assume."""
    return [
        f"Events have {EVENT_KB} KB, and the busiest minute is {PEAK} times the mean. {100 * LAKE_SHARE:.0f} % of the "
        "bytes stay in the lake, for a year ([measured](../explanation/benchmarks.md): 9 to 12 %). A commit of one "
        "table takes five requests to the storage (counted against Azurite). A run of the parser takes two seconds and "
        "an instance of the receiver handles 100 requests a second; neither was measured on Azure. The trigger renews "
        "each lease every 30 s, the default of its processor. The app of sinks has one sink that accepts all events: a "
        "run that delivers made 50 to 119 requests to the storage, a run without new events 13 to 85 (counted against "
        "Azurite; three more with each of the 23 commits since the last checkpoint).",
        f"Prices: public list prices, {PRICES_AS_OF}. Azure's price pages were not reachable: the rates of Functions "
        "on demand and of Log Analytics come from public copies, the others from memory. **Check the prices before you "
        "rely on the sums**, and change them in `tools/azure_cost.py`.",
        "The sums leave out the always-ready API and the app of sinks, which have separate tables, and the answers of "
        "the API, Spark, Fabric, outgoing traffic and private endpoints.",
    ]


def tables() -> str:
    """Return the tables of docs/reference/azure-costs.md: the sums, each bill and the prices."""
    parts = [summary()]
    parts += [_bill_table(*case) for case in CASES]
    parts.append(_api_table())
    parts.append(_sinks_table())
    prices = [f"| {what} | {usd:.6f}".rstrip("0") + " |" for what, usd in USD.items()]
    parts.append("\n".join(["| price | US dollars |", "|---|---|", *prices]))
    return "\n\n".join(parts)


def summary() -> str:
    """Return the table of the sums, which docs/how-to/platform-operator/azure.md also contains."""
    rows = ["| events a day | tier | in the lake after | € a month |", "|---|---|---|---|"]
    for name, events in CASES:
        tier = Tier.read(name)
        rows.append(f"| {events:,} | {name} | up to {tier.flush_s} s | **{total_eur(bill(tier, events)):,.0f}** |")
    return "\n".join(rows)


def _bill_table(name: str, events: int) -> str:
    lines = bill(Tier.read(name), events)
    rows = [f"| {name}, {events:,} events a day | calculation | $ a month |", "|---|---|---|"]
    rows += [f"| {line.what} | {line.how} | {line.usd:,.2f} |" for line in lines]
    euros = f"x {REGION} for West Europe x {EUR_PER_USD} € = € {total_eur(lines):,.2f}"
    rows.append(f"| sum | {euros} | {sum(line.usd for line in lines):,.2f} |")
    return "\n".join(rows)


def _api_table() -> str:
    rows = ["| always-ready API (`API_ALWAYS_READY=1`) | calculation | $ a month |", "|---|---|---|"]
    small = sum(line.usd for line in bill(Tier.read("small"), 10_000))
    for hours in (0, 8, 24):
        line = api_line(hours)
        rows.append(f"| {hours} h of questions a day | {line.how} | {line.usd:,.2f} (€ {total_eur([line]):,.2f}) |")
    rows.append(
        f"| small, 10,000 events a day, with it at 8 h | the sum above and this line | {small + api_line(8).usd:,.2f} |"
    )
    return "\n".join(rows)


def _sinks_table() -> str:
    rows = ["| app of sinks, one sink | calculation | $ a month |", "|---|---|---|"]
    for name, events in CASES:
        lines = sinks_bill(Tier.read(name), events)
        how = "; ".join(f"{line.what.lower()}: {line.how} (${line.usd:,.2f})" for line in lines)
        sums = f"{sum(line.usd for line in lines):,.2f} (€ {total_eur(lines):,.2f})"
        rows.append(f"| {name}, {events:,} events a day | {how} | {sums} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(tables())
