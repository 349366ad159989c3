"""Types of answers. The OpenAPI document is generated from them, and tests validate every answer against them."""
