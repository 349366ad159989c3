"""The timers that maintain the lake."""

import azure.functions as func

from headwater.lake.bronze_retention import delete_old_events
from headwater.lake.maintenance import compact_tables, vacuum_tables
from headwater.operations.runtime.storage import open_bronze
from headwater.operations.settings import Settings


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the triggers, which run on one instance at a time."""
    bp = func.Blueprint()
    bronze = open_bronze(settings)

    @bp.function_name("compact")
    @bp.timer_trigger(arg_name="timer", schedule="0 */10 * * * *")
    def join_small_files(timer: func.TimerRequest) -> None:
        compact_tables(bronze)

    @bp.function_name("vacuum")
    @bp.timer_trigger(arg_name="timer", schedule="0 5 * * * *")
    def delete_unused_files(timer: func.TimerRequest) -> None:
        delete_old_events(bronze, settings.bronze_keep_days)
        vacuum_tables(bronze, settings.vacuum_hours)

    return bp
