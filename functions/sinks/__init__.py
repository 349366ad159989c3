"""The trigger of sinks: a timer that lets all of them work for a while, on one instance at a time."""

import azure.functions as func

from functions.sinks.shift import Shift
from headwater.settings import Settings


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the trigger; its first run reads the file of sinks."""
    bp = func.Blueprint()
    shift = Shift(settings)

    @bp.function_name("sinks")
    @bp.timer_trigger(arg_name="timer", schedule="0 * * * * *")
    def let_sinks_work(timer: func.TimerRequest) -> None:
        shift.run()

    return bp
