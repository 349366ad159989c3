"""Files of events to a receiver, each event once: for who cannot post, and writes to storage instead."""
