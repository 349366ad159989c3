"""The contract of sinks: entries in `sinks.yml`, the known targets, and the protocol of a target."""
