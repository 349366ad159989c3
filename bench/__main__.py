"""Run all benchmarks: `python -m bench` takes about an hour, `python -m bench --quick` a few minutes."""

import argparse

from bench import (
    cold_start,
    dashboard,
    freshness,
    functions,
    inference,
    ingest,
    instances,
    lineage,
    log_size,
    longrun,
    parser,
    reading,
    receiver,
    sinks,
    spark,
    spark_ingest,
    spark_scale,
    stream,
    transport,
    upgrade,
    volume_anomalies,
    wide_events,
)
from bench.figures import QUICK_ROUNDS, ROUNDS, show


def main() -> None:
    """Run the benchmarks one after another, because parallel runs distort the figures. Print each table at its end."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="fewer rounds and fewer events")
    quick = arguments.parse_args().quick
    rounds = QUICK_ROUNDS if quick else ROUNDS
    show("Receiver", receiver.run(rounds))
    show("Event log", log_size.run())
    show("Parser", parser.run(rounds))
    show("Freshness", freshness.run(rounds))
    show("Sinks", sinks.run(rounds))
    show("Function App", functions.run(rounds))
    show("Several instances", instances.run_quick() if quick else instances.run())
    show("Ingest", ingest.run(*((ingest.QUICK_EVENTS, ingest.QUICK_FILES) if quick else (ingest.EVENTS, ingest.FILES))))
    show("Lineage", lineage.run(rounds))
    show("Cold start", cold_start.run(rounds))
    show("Inference", inference.run())
    show("Wide events", wide_events.run(1 if quick else wide_events.ROUNDS))
    show("Reading", reading.run_quick() if quick else reading.run())
    show("Unusual volumes", volume_anomalies.run())
    show("Upgrade", upgrade.run(upgrade.EVENTS if quick else upgrade.MANY_EVENTS))
    show("Dashboard", dashboard.run(rounds))
    show("Spark", spark.run(spark.QUICK_EVENTS if quick else spark.EVENTS))
    show(
        "Spark by the size of the graph",
        spark_scale.run(spark_scale.QUICK_EDGES, spark_scale.QUICK_MANY) if quick else spark_scale.run(),
    )
    show("Stream", stream.run(stream.QUICK_EVENTS if quick else stream.EVENTS))
    show("Transport", transport.run(rounds))
    show("Ingest by Spark", spark_ingest.run(spark_ingest.QUICK_EVENTS if quick else spark_ingest.EVENTS))
    show("Long run", longrun.run(longrun.QUICK_EVENTS if quick else longrun.EVENTS))


if __name__ == "__main__":
    main()
