"""Paths of the repository that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
FIXTURES = TESTS / "fixtures"
EVENTS = FIXTURES / "events"
"""Recorded events of other projects, with their licence and a manifest."""
