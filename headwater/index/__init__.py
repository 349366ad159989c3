"""The index: a read model of bronze from which questions are answered. It can always be rebuilt from bronze."""
