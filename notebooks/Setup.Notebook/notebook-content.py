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

# # Setup: send the lineage of this workspace to Headwater
#
# The listener reads its properties when a session starts. Therefore set them in the Environment `Headwater` (*Spark
# compute*, *Spark properties*) that notebooks run in, together with the key as
# `spark.openlineage.transport.auth.apiKey`. On Databricks set them in the cluster's *Spark config*, with `captured =
# DATABRICKS`. The listener's jar must be on the driver's class path: Fabric includes it, Databricks does not.

# PARAMETERS CELL ********************

receiver_url = "https://RECEIVER_HOST"
reader_url = "https://READER_HOST"
namespace = "fabric/WORKSPACE_NAME"
key_vault = "https://KEY_VAULT"  # with the secrets headwater-write and headwater-read; empty: no keys are needed

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.questions.producer_setup import FABRIC, spark_properties
from headwater.spark.listener import ServerAddress, check_arrival, compare_properties

display(compare_properties(spark, spark_properties(receiver_url, namespace, captured=FABRIC)))

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# MARKDOWN ********************

# Does an event arrive, and when can it be read? The next cell sends an event from the notebook, not from the listener,
# to check address, key and network. Then run any notebook that writes a table and search for the notebook's job with
# `headwater events --job NAME`.

# CELL ********************

write_key = notebookutils.credentials.getSecret(key_vault, "headwater-write") if key_vault else None
read_key = notebookutils.credentials.getSecret(key_vault, "headwater-read") if key_vault else None

arrival = check_arrival(ServerAddress(receiver_url, write_key), ServerAddress(reader_url, read_key))
display(arrival)

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }
