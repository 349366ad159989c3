"""The trigger of sinks: a timer that runs all sinks for a while, on one instance at a time."""

import azure.functions as func

from functions.sinks.sink_run import SinkRun
from headwater.operations.settings import Settings


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the trigger. Its first run reads the file of sinks."""
    bp = func.Blueprint()
    sinks = SinkRun(settings)

    @bp.function_name("sinks")
    @bp.timer_trigger(arg_name="timer", schedule="0 * * * * *")
    def run_sinks(timer: func.TimerRequest) -> None:
        sinks.run()

    return bp
