"""The demo of `headwater demo`: a recorded pipeline, the rules of its user, and its replay into a data folder."""
