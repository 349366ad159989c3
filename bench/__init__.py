"""Benchmarks. Each figure is printed with its goal and with a floor: the cost of the minimal work it cannot avoid."""
