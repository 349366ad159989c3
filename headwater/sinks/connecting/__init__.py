"""How a target over HTTP is reached: one connection, who we are there, where secrets lie."""
