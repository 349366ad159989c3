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

# # Replay: send past events to another system
#
# Sends the events of a period in the lake to an OpenLineage API, such as a Marquez or a second Headwater, or to a sink
# of `sinks.yml`. Spark tasks deliver in parallel, each run in the order of event times. Run it first unchanged:
# `dry_run` reports what would be sent. An interrupted run continues with the same parameters; a finished one starts
# from the beginning.

# PARAMETERS CELL ********************

lake = "Files/headwater"
to = ""  # address of an OpenLineage API, or the name of a sink
sinks = ""  # the file of that sink, such as /lakehouse/default/Files/sinks.yml
key_vault = ""  # address of the secret with the key for `to`, such as https://NAME.vault.azure.net/secrets/NAME
since = ""  # events with a time at or after this one, such as 2026-03-01
until = ""  # events with a time before this one
received_since = ""  # events received at or after this time; not together with since or until
received_until = ""  # events received before this time
batch = 1  # events in a request; use more for a system that accepts batches of events, such as Headwater
streams = 0  # number of parallel tasks; use 1 for a Marquez; 0: as many as the session can run
rate = 0  # maximum events per second; 0: no limit
dry_run = True

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }

# CELL ********************

from headwater.spark.replay.replay_job import replay

given = {"--sinks": sinks, "--key-vault": key_vault, "--since": since, "--until": until}
given |= {"--received-since": received_since, "--received-until": received_until}
given |= {"--batch": batch, "--streams": streams, "--rate": rate}
options = [text for name, value in given.items() if value for text in (name, str(value))]
display(replay([lake, "--to", to, *options, *(["--dry-run"] if dry_run else [])]))

# METADATA ********************

# META {
# META   "language": "python",
# META   "language_group": "synapse_pyspark"
# META }
