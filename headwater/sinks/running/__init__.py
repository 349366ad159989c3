"""A sink at work: follow, convert, deliver, and keep how far it is."""
