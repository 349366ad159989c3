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

# # Refresh silver and gold
#
# Processes the events that arrived since the last run. Schedule this notebook; a run that starts while another one is
# active ends at once and changes nothing. After a change of the rules, or with another release, all tables are rebuilt
# next to the current ones and then replace them. Notebooks use the new tables automatically; for the tables of the SQL
# endpoint run `headwater fabric shortcut` again.

# PARAMETERS CELL ********************

lake = "Files/headwater"
rules = ""  # folder with names.yaml, tags.yaml and so on, such as /lakehouse/default/Files/rules
rebuild = False

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.spark.__main__ import main

main([lake, *(["--rules", rules] if rules else []), *(["--rebuild"] if rebuild else [])])

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.spark.notebook.notebook_questions import overview

display(overview(spark, lake))

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }
