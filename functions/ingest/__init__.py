"""The trigger that takes files in: a timer, on one instance at a time."""

import azure.functions as func

from headwater.settings import Settings


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the trigger, where folders are named; its first run opens them."""
    bp = func.Blueprint()
    if not settings.ingest:
        return bp
    from functions.ingest.file_shift import FileShift  # noqa: PLC0415 - an app that takes no files starts without it

    shift = FileShift(settings)

    @bp.function_name("ingest")
    @bp.timer_trigger(arg_name="timer", schedule="15 * * * * *")
    def take_files(timer: func.TimerRequest) -> None:
        shift.run()

    return bp
