"""The disposable read model that questions ask."""
