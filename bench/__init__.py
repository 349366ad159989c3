"""How fast, how lean: every figure beside its goal and beside the floor that no design could go under."""
