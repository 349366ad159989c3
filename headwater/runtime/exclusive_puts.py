"""Whether a bucket keeps two commits of one version apart, asked of the bucket itself before anything is written.

A commit to a Delta table is an object that must not be there yet. A store that takes the condition and does not heed it
would let one parser's commit overwrite another's, without a word: acknowledged events would be gone.
"""

import secrets

from headwater.errors import WrongSetting
from headwater.lake.object_store import ObjectStore
from headwater.runtime.storage import BUCKETS, lake_place
from headwater.settings import Settings


def check_exclusive_puts(settings: Settings) -> None:
    """Write an object that must not be there, twice, and delete it; for a lake in a bucket alone.

    Raises WrongSetting where the second one is taken, LakeUnavailable where the bucket cannot be asked.
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
            f"The store of {lake} does not refuse an object that is there already (If-None-Match: *), so that two "
            "commits of a Delta table may overwrite each other. Take a newer version of it, or another store, or lock "
            "by DynamoDB: `aws_s3_locking_provider` in `lake_options`; see docs/storage.md."
        )
