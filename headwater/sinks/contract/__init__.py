"""What a sink is: its entry in `sinks.yml`, which targets there are, and what each of them is called for."""
