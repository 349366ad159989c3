"""Delta tables under Spark: reading, writing, taking back, keeping small."""
