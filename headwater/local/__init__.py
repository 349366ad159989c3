"""`headwater up`: one machine, one command, three processes."""
