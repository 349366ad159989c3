"""The targets: one module or package each; they share nothing except the Kafka topic."""
