"""`headwater up`: run all services on one machine with a single command."""
