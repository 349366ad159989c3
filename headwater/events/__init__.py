"""What an OpenLineage event is: its shape, its facets, and whether both keep to the published schemas."""
