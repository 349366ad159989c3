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

# # Unused columns: can this column be dropped?
#
# `used`: a job reads it. `unused`: every reader reports which columns it reads, and none reads this one. Readers
# without lineage, such as ad-hoc queries and reports, are not included. `unknown`: a reader does not report which
# columns it reads, or no reader reports lineage.

# PARAMETERS CELL ********************

lake = "Files/headwater"
dataset = ""  # A dataset by its name, an alias, or a unique end of its name; default: all.

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.spark.notebook.plots import as_html, draw_unused
from headwater.spark.notebook.notebook_questions import Questions

questions = Questions(spark, lake)
found = questions.unused(dataset)
display(found)

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

displayHTML(as_html(draw_unused(found)))

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }
