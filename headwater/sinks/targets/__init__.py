"""The targets: a module or a folder each; none knows another one but for Kafka's topic."""
