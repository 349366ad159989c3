"""The checks of `headwater doctor`."""
