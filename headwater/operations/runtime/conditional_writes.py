"""Test whether a bucket supports conditional writes, before anything is written to it.

A commit to a Delta table creates an object that must not exist yet. If a store accepts the condition but ignores it,
one parser's commit silently overwrites another's, and acknowledged events are lost.
"""

import secrets

from headwater.common.errors import WrongSetting
from headwater.lake.object_store import ObjectStore
from headwater.operations.runtime.storage import BUCKETS, lake_place
from headwater.operations.settings import Settings


def check_conditional_writes(settings: Settings) -> None:
    """Create the same object twice, and delete it; does nothing if the lake is not in a bucket.

    Raises WrongSetting if the second write succeeds, LakeUnavailable if the bucket does not respond.
    """
    lake, options = lake_place(settings)
    if not lake.startswith(BUCKETS) or "aws_s3_locking_provider" in {name.lower() for name in options}:
        return
    store, probe = ObjectStore(lake, options), f"run/exclusive-{secrets.token_hex(8)}"
    store.create(probe, b"1")
    is_overwritten = store.create(probe, b"2")
    store.delete([probe])
    if is_overwritten:
        raise WrongSetting(
            f"The store of {lake} does not support conditional writes (If-None-Match: *), so two commits of a Delta "
            "table could overwrite each other. Use a newer version of the store, another store, or locking with "
            "DynamoDB: `aws_s3_locking_provider` in `lake_options`; see docs/storage.md."
        )
