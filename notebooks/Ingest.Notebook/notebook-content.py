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

# # Ingest: event files in storage into bronze
#
# Ingests the events that the OneLake transport, OpenLineage's file transport, the Spark plugin or another tool has
# stored, each event once. An interrupted run continues where it stopped. Schedule this notebook before `Refresh`; a run
# that starts while another one is active ends at once and changes nothing. For several places, run it once for each,
# with a separate `log`.

# PARAMETERS CELL ********************

lake = "Files/headwater"
place = "Files/lineage"  # folder, file or Delta table, such as abfss://…@onelake.dfs.fabric.microsoft.com/…
log = "onelake"  # name of the log that the events get in the lake; always use the same name for one place
kind = ""  # ndjson, capture, plugin or table; empty: detect the kind, which is not possible for capture
column = ""  # for a table of JSON: the column with the events
since = ""  # for files: ingest only files modified since this time or in this period, such as 2026-03-01 or 2d
keep = ""  # for files: delete ingested files that were not modified for this period, such as 30d

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.spark.file_ingest.ingest_job import ingest

given = {"--name": log, "--format": kind, "--column": column, "--since": since, "--keep": keep}
display(ingest([lake, place, *(text for option, value in given.items() if value for text in (option, value))]))

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }
