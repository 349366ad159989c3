"""Microsoft Fabric: deploy the workspace items and the shortcuts that show the lake."""
