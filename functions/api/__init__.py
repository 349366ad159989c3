"""Triggers of reading API and dashboard: one route, answered by the same application as locally, and a timer."""

import logging

import azure.functions as func

from functions.api.reading import Instance
from functions.receiver.intake import intake_of
from headwater.operations.runtime.folders import prepare_folder
from headwater.operations.runtime.snapshot_timer import snapshot_once
from headwater.operations.settings import Settings

log = logging.getLogger(__name__)


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the triggers. The first request starts this instance's index."""
    bp = func.Blueprint()
    middleware = func.AsgiMiddleware(Instance(settings))
    intake = intake_of(settings) if "receiver" in settings.triggers else None

    @bp.function_name("api")
    @bp.route("{*route}", methods=["GET", "HEAD", "POST", "PUT", "DELETE"], auth_level=func.AuthLevel.ANONYMOUS)
    async def read(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
        if intake and req.method == "POST" and (found := await intake.inexact(req)):
            return found
        answer: func.HttpResponse = await middleware.handle_async(req, context)
        return answer

    @bp.function_name("snapshot")
    @bp.timer_trigger(arg_name="timer", schedule="0 35 * * * *")
    def make_index_snapshot(timer: func.TimerRequest) -> None:
        try:
            snapshot_once(settings, prepare_folder(settings))
        except Exception as error:  # raised again, so that the host counts a failed invocation
            log.error("No snapshot of the index was made: %s", error)
            raise

    return bp
