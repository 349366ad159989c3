"""Read, write, restore and compact Delta tables with Spark."""
