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

# # Replay: history once more, to another system
#
# Sends what the lake has of a span of time to an OpenLineage API, such as a Marquez or a second Headwater, or to a sink
# of `sinks.yml`. Tasks of Spark deliver side by side, each run in the order of event times. Run it first as it is:
# `dry_run` says what would be sent. A run that was cut off goes on where it stood with the same parameters; one that
# has ended begins anew.

# PARAMETERS CELL ********************

lake = "Files/headwater"
to = ""  # address of an OpenLineage API, or the name of a sink
sinks = ""  # the file of that sink, such as /lakehouse/default/Files/sinks.yml
key_vault = ""  # address of a secret with the key of `to`, such as https://NAME.vault.azure.net/secrets/NAME
since = ""  # events with a time from this moment on, such as 2026-03-01
until = ""  # events with a time before this moment
received_since = ""  # events received from this moment on; not together with since or until
received_until = ""  # events received before this moment
batch = 1  # events of a request; more for what takes OpenLineage's batches, such as Headwater
streams = 0  # tasks that deliver at once; 1 for a Marquez; 0: as many as the session has room for
rate = 0  # most events a second; 0: as many as go
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
