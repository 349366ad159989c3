"""The trigger of reading API and dashboard: one route for all of it, answered by the application of a laptop."""

import azure.functions as func

from functions.api.reading import Instance
from headwater.settings import Settings


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the trigger; the first request begins to build this instance's index."""
    bp = func.Blueprint()
    middleware = func.AsgiMiddleware(Instance(settings))

    @bp.function_name("api")
    @bp.route("{*route}", methods=["GET", "HEAD", "POST", "PUT", "DELETE"], auth_level=func.AuthLevel.ANONYMOUS)
    async def read(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
        answer: func.HttpResponse = await middleware.handle_async(req, context)
        return answer

    return bp
