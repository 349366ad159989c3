"""Shapes of answers, which become the schemas of the OpenAPI document. Tests validate every answer against them."""
