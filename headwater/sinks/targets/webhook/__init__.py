"""A webhook: small signed notices about what people wait for."""
