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

# # Upstream: which columns does this one come from?
#
# A blue line leads to a column that is masked on the way: every path between the two columns has a masking step. A red
# line leads to the other columns. The color does not describe the column itself. `stops` are datasets, drawn with a
# dashed line, at which lineage stops because jobs report no columns, no input or no output (`reason`): what follows may
# or may not be affected. `may_be_connected` lists datasets that another run of the same application read or wrote.

# PARAMETERS CELL ********************

lake = "Files/headwater"
dataset = "gold/revenue"  # A dataset by its name, an alias, or a unique end of its name.
column = "revenue"  # Name of a column, without regard to case; default: the whole dataset.
mode = "value"  # value: steps that pass values; any: also columns that filter, join, group or sort.
depth = 25  # Maximum number of edges.

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.spark.notebook.plots import as_html, draw_reach
from headwater.spark.notebook.notebook_questions import Questions

questions = Questions(spark, lake)
found = questions.upstream(dataset, column, mode=mode, depth=depth)
display(found.columns)

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

displayHTML(as_html(draw_reach(found, f"Upstream of {dataset} {column}")))

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

display(found.stops)

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }
