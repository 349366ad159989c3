"""Semantic models of Power BI and Fabric, as declarations: what a scan or semantic link's lists say of them."""
