"""The API of Marquez on our index. Marquez's web page and clients work unchanged. See docs/reference/marquez.md."""
