# Fabric notebook source

# METADATA ********************

# META {
# META   "kernel_info": {
# META     "name": "synapse_pyspark"
# META   },
# META   "dependencies": {
# META     "lakehouse": {
# META       "default_lakehouse": "748b81ac-2775-5021-bccf-26437ca6b458",
# META       "default_lakehouse_name": "Lineage",
# META       "default_lakehouse_workspace_id": "00000000-0000-0000-0000-000000000000"
# META     },
# META     "environment": {
# META       "environmentId": "3b891110-a550-5543-91c7-53b86cbae30d",
# META       "workspaceId": "00000000-0000-0000-0000-000000000000"
# META     }
# META   }
# META }

# MARKDOWN ********************

# # Ingest: what landed in storage, into bronze
#
# Takes what the OneLake transport, OpenLineage's file transport, the Spark plugin or somebody else has stored, each
# event once; a run that was cut off goes on where it stood. Schedule it, before `Refresh`; a run that comes while
# another one is at work ends at once and changes nothing. Several places: one run after the other, each with its name.

# PARAMETERS CELL ********************

lake = "Files/headwater"
place = "Files/lineage"  # folder, file or Delta table, such as abfss://…@onelake.dfs.fabric.microsoft.com/…
log = "onelake"  # name of what this makes up in the lake: always the same for one place
kind = ""  # ndjson, capture, plugin or table; empty: found out, but for Capture
column = ""  # of a table of JSON: the column with the events
since = ""  # of files: only those written to since, such as 2026-03-01 or 2d
keep = ""  # of files: delete those that are taken and were not written to for so long, such as 30d

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.spark.landing.landing_job import ingest

given = {"--name": log, "--format": kind, "--column": column, "--since": since, "--keep": keep}
display(ingest([lake, place, *(text for option, value in given.items() if value for text in (option, value))]))

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }
