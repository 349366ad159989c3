"""Measurements. Each figure is printed next to its goal and to the floor that no design can go below."""
