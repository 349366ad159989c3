"""The command `plan`: what a schema change would break, from SQL, contracts, lists of changes or dbt."""
