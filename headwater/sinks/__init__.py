"""Sinks: send events from the lake to other systems; each sink follows, converts and delivers independently."""
