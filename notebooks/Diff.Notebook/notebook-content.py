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

# # What changed?
#
# Shows the edges that were added, that were removed, or that began or ceased to mask. An edge that was removed
# unintentionally is lost lineage.

# PARAMETERS CELL ********************

lake = "Files/headwater"
since = "2026-03-01T00:00:00Z"  # Start time.
until = ""  # End time; default: now.

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.spark.notebook.plots import as_html, draw_diff
from headwater.spark.notebook.notebook_questions import Questions

questions = Questions(spark, lake)
found = questions.diff(since, until)
display(found)

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

displayHTML(as_html(draw_diff(found)))

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }
