"""DataHub's own model: metadata change proposals, by rules D1 to D10 in docs/reference/sinks.md."""
