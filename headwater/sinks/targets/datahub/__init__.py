"""DataHub by its own model: metadata change proposals, by rules D1 to D10 of docs/sinks.md."""
