"""The receiver's triggers. The host does not authenticate their routes, so that the receiver answers 401 and 405."""

import azure.functions as func
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest

from functions.receiver.intake import process_intake
from headwater.common.json_headers import ANSWER_HEADERS
from headwater.operations.settings import Settings

ANONYMOUS = func.AuthLevel.ANONYMOUS


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the triggers. The first request connects to the log."""
    bp = func.Blueprint()
    intake = process_intake(settings)

    @bp.function_name("lineage")
    @bp.route("api/v1/lineage", auth_level=ANONYMOUS)
    async def lineage(req: func.HttpRequest) -> func.HttpResponse:
        return await intake.receive_event(req)

    @bp.function_name("lineage_batch")
    @bp.route("api/v1/lineage/batch", auth_level=ANONYMOUS)
    async def lineage_batch(req: func.HttpRequest) -> func.HttpResponse:
        return await intake.receive_batch(req)

    if "api" not in settings.triggers:  # otherwise the route of the API matches every other path

        @bp.function_name("other_paths")
        @bp.route("{*path}", methods=["POST"], auth_level=ANONYMOUS)
        async def other_paths(req: func.HttpRequest) -> func.HttpResponse:
            return await intake.receive_other_path(req)

    @bp.function_name("live")
    @bp.route("health/live", methods=["GET"], auth_level=ANONYMOUS)
    async def live(req: func.HttpRequest) -> func.HttpResponse:
        return await intake.live()

    @bp.function_name("ready")
    @bp.route("health/ready", methods=["GET"], auth_level=ANONYMOUS)
    async def ready(req: func.HttpRequest) -> func.HttpResponse:
        return await intake.ready()

    if "api" not in settings.triggers:

        @bp.function_name("metrics")
        @bp.route("metrics", methods=["GET"], auth_level=ANONYMOUS)
        async def metrics(req: func.HttpRequest) -> func.HttpResponse:
            return func.HttpResponse(generate_latest(REGISTRY), headers=ANSWER_HEADERS, mimetype=CONTENT_TYPE_LATEST)

    return bp
