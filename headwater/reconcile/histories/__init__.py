"""Job history: one module for each kind of system that remembers what ran."""
