"""The receiver's triggers: plain routes, anonymous for the host, so that 401 and 405 are the station's own answers."""

import azure.functions as func

from functions.receiver.intake import intake_of
from headwater.settings import Settings

ANONYMOUS = func.AuthLevel.ANONYMOUS


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the triggers; the first request connects to the log."""
    bp = func.Blueprint()
    intake = intake_of(settings)

    @bp.function_name("lineage")
    @bp.route("api/v1/lineage", auth_level=ANONYMOUS)
    async def lineage(req: func.HttpRequest) -> func.HttpResponse:
        return await intake.one(req)

    @bp.function_name("lineage_batch")
    @bp.route("api/v1/lineage/batch", auth_level=ANONYMOUS)
    async def lineage_batch(req: func.HttpRequest) -> func.HttpResponse:
        return await intake.batch(req)

    @bp.function_name("live")
    @bp.route("health/live", methods=["GET"], auth_level=ANONYMOUS)
    async def live(req: func.HttpRequest) -> func.HttpResponse:
        return await intake.live()

    @bp.function_name("ready")
    @bp.route("health/ready", methods=["GET"], auth_level=ANONYMOUS)
    async def ready(req: func.HttpRequest) -> func.HttpResponse:
        return await intake.ready()

    return bp
