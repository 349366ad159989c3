"""The index: a disposable read model of bronze that answers questions."""
