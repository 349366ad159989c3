"""The trigger that ingests files: a timer, on one instance at a time."""

import azure.functions as func

from headwater.operations.settings import Settings


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the trigger if folders are configured. Its first run opens them."""
    bp = func.Blueprint()
    if not settings.ingest:
        return bp
    from functions.ingest.file_ingest import FileIngest  # noqa: PLC0415 - only for apps that ingest files

    ingest = FileIngest(settings)

    @bp.function_name("ingest")
    @bp.timer_trigger(arg_name="timer", schedule="15 * * * * *")
    def take_files(timer: func.TimerRequest) -> None:
        ingest.run()

    return bp
