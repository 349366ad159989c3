"""Microsoft Fabric: the lake as shortcuts of a lakehouse."""
