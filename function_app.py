"""The Function App: registers only the triggers in the setting `triggers`."""

from importlib import import_module

import azure.functions as func

from functions import app_settings

BLUEPRINTS = {
    "receiver": "functions.receiver",
    "parser": "functions.parser",
    "maintenance": "functions.parser.maintenance",
    "api": "functions.api",
    "sinks": "functions.sinks",
    "ingest": "functions.ingest",
}
"""Module of each trigger. An app imports only the modules of its triggers, so a receiver app does not load Delta."""

settings = app_settings()
app = func.FunctionApp()
for trigger in settings.triggers:
    app.register_functions(import_module(BLUEPRINTS[trigger]).blueprint(settings))
