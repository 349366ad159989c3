"""Settings to real clients: the only place that knows where things lie.

What an `open_*` function opens is imported by it: a receiver must not load Delta, nor a laptop an Azure SDK.
"""
