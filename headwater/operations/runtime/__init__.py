"""Build clients from settings; the only package that knows where data is stored.

Each `open_*` function imports its modules when it is called, so a receiver does not load Delta, and a laptop does not
load the Azure SDK.
"""
