"""What would a change break? Changes read from SQL, contracts, lists and dbt, held against the graph as it is."""
