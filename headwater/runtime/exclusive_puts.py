"""Whether a bucket keeps two commits of one version apart, asked of the bucket itself before anything is written.

A commit to a Delta table is an object that must not be there yet. A store that takes the condition and does not heed it
would let one parser's commit overwrite another's, without a word: acknowledged events would be gone.
"""

import secrets

from headwater.errors import LakeUnavailable, WrongSetting
from headwater.eventlog.object_buckets import SCHEMES, bucket_faults, open_bucket
from headwater.runtime.storage import lake_place
from headwater.settings import Settings
from headwater.storage_faults import explain

_REQUEST_S = 15.0


def check_exclusive_puts(settings: Settings) -> None:
    """Write an object that must not be there, twice, and delete it; for a lake in a bucket alone.

    Raises WrongSetting where the second one is taken, LakeUnavailable where the bucket cannot be asked.
    """
    lake, options = lake_place(settings)
    if not lake.startswith(SCHEMES) or "aws_s3_locking_provider" in {name.lower() for name in options}:
        return
    store = open_bucket(lake, options, seconds=_REQUEST_S)
    from obstore.exceptions import AlreadyExistsError, NotSupportedError

    probe = f"run/exclusive-{secrets.token_hex(8)}"
    try:
        store.put(probe, b"1", mode="create", use_multipart=False)
        try:
            store.put(probe, b"2", mode="create", use_multipart=False)
            is_exclusive = False
        except AlreadyExistsError:
            is_exclusive = True
        finally:
            store.delete(probe)
    except NotSupportedError as error:
        raise _unsafe(lake) from error
    except bucket_faults() as error:
        raise LakeUnavailable(f"Cannot use the lake at {lake}: {explain(error, 'lake')}") from error
    if not is_exclusive:
        raise _unsafe(lake)


def _unsafe(lake: str) -> WrongSetting:
    return WrongSetting(
        f"The store of {lake} does not refuse an object that is there already (If-None-Match: *), so that two commits "
        "of a Delta table may overwrite each other. Take a newer version of it, or another store, or lock by DynamoDB: "
        "`aws_s3_locking_provider` in `lake_options`; see docs/storage.md."
    )
