"""Run a sink: follow the lake, convert, deliver, and commit the position."""
