"""The property "removing information from an event never makes an answer safer", and the cases that show it."""
