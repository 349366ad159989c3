"""The reading API of Marquez, on our index: its web page and its clients work unchanged. See docs/marquez.md."""
