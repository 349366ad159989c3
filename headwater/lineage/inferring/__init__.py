"""Rule 13: what columns a statement's outputs are made of, from its SQL where no producer says it."""
