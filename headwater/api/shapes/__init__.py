"""What answers look like: the schemas of the OpenAPI document. Tests hold every answer against them."""
