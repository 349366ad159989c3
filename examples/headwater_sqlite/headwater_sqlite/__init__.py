"""An example of a package that extends Headwater."""
