"""Snapshots of the index in the lake. An instance without an index starts from the newest valid one."""
