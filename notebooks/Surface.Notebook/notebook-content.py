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

# # Exposure: which columns contain personal data?
#
# `exposed`: the value can be read there. `masked`: every path to the column masks it. `unknown`: the column may contain
# it, but no lineage proves it. Give a tag, or a dataset and a column to see which columns contain its values.

# PARAMETERS CELL ********************

lake = "Files/headwater"
tag = "pii"  # The tag of the sensitive columns.
namespace = ""  # Namespace of the dataset; optional if the name is unique.
dataset = ""  # A dataset by its name, an alias, or a unique end of its name; default: all.
column = ""  # Name of a column, without regard to case; default: the whole dataset.

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from html import escape

from headwater.spark.notebook.plots import as_html, draw_surface
from headwater.spark.notebook.notebook_questions import Questions

questions = Questions(spark, lake)
found = questions.surface(tag, namespace=namespace, dataset=dataset, column=column)
display(found)

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

if found.empty:
    displayHTML(f"<p>{escape(questions.without_surface(tag, dataset, column))}</p>")
else:
    displayHTML(as_html(draw_surface(found)))

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }
