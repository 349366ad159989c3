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

# # Where does this column end up?
#
# A blue line leads to a column that is masked on the way: every way between the two has a step that masks; a red one to
# the others. It says nothing of the column itself. `stops` are datasets, drawn with a dashed line, at which lineage
# stops because jobs name no columns, no input or no output (`reason`): what follows may or may not be concerned.
# `may_be_connected` names datasets that another run of the same application read or wrote.

# PARAMETERS CELL ********************

lake = "Files/headwater"
dataset = "bronze/customers"  # A dataset by its name, any alias, or a unique end of its name.
column = "email"  # A column in any case; without it the whole dataset.
mode = "value"  # value: what values are made of; any: also what filters, joins, groups or sorts.
depth = 25  # At most so many edges away.

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.spark.notebook.plots import as_html, draw_reach
from headwater.spark.notebook.notebook_questions import Questions

questions = Questions(spark, lake)
found = questions.impact(dataset, column, mode=mode, depth=depth)
display(found.columns)

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

displayHTML(as_html(draw_reach(found, f"Impact of {dataset} {column}")))

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
