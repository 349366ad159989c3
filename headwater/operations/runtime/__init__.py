"""Build clients from settings; the only package that knows where data is stored.

Each `open_*` function imports what it opens, so a receiver does not load Delta, and a laptop loads no Azure SDK.
"""
