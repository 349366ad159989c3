"""What Spark's own Python code warns of, in the tests that use it: every other warning fails a test."""

import pytest

SPARK_NOISE = (
    pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The distutils package is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
)
