"""Query and control sinks, including replays."""
