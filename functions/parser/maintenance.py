"""The lake's maintenance on timers, and the parser's second look at the log."""

import azure.functions as func

from functions import open_readers
from functions.parser.opening import open_partitions
from headwater.lake.maintain import compact, vacuum
from headwater.runtime import open_bronze, prepare_folder
from headwater.settings import Settings

OVERDUE_S = 300
"""A delivery that waits longer than this in the log has been missed, or the trigger is far behind: both are helped."""


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the triggers, which run on one instance at a time."""
    bp = func.Blueprint()
    readers, partitions = open_readers(settings, prepare_folder(settings)), open_partitions(settings)
    bronze = open_bronze(settings)

    @bp.function_name("compact")
    @bp.timer_trigger(arg_name="timer", schedule="0 */10 * * * *")
    def join_small_files(timer: func.TimerRequest) -> None:
        compact(bronze)

    @bp.function_name("vacuum")
    @bp.timer_trigger(arg_name="timer", schedule="0 5 * * * *")
    def delete_unused_files(timer: func.TimerRequest) -> None:
        vacuum(bronze, settings.vacuum_hours)

    @bp.function_name("catch_up")
    @bp.timer_trigger(arg_name="timer", schedule="30 */5 * * * *")
    def take_what_was_missed(timer: func.TimerRequest) -> None:
        for reader in readers():
            partitions.catch_up(reader.source.partition, OVERDUE_S)

    return bp
