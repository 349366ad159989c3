"""Processes and their upkeep: start and supervise them, configure, back up, erase, deploy."""
