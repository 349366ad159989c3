"""`headwater up`: run all stations on one machine with a single command."""
