"""Fan-out: what the lake has taken goes on to other systems, each sink by itself: follow, convert, deliver."""
