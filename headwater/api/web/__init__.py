"""The dashboard: built from `web/` by `make web` into `assets/`, served at `/`."""
