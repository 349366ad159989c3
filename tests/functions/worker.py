"""Imitate the Functions host: run in the app's environment and drive Azure's worker library, one JSON line per call.

This file does not import Headwater. Its messages have the form of the host's messages
(GrpcMessageConversionExtensions.cs and EventHubTriggerBindingStrategy.cs in Microsoft's sources), as plain objects
instead of protobuf.
"""

import asyncio
import base64
import json
import logging
import sys
from importlib.metadata import packages_distributions
from typing import Any

import azure_functions_runtime as worker


class Message:
    """A message without protobuf: every argument becomes a field."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class TypedData(Message):
    """A value with its kind, like protobuf's TypedData."""

    def __init__(self, **kind: Any) -> None:
        super().__init__(**kind)
        self._kind = next(iter(kind), None)

    def WhichOneof(self, _: str) -> str | None:  # noqa: N802 - protobuf's name
        return self._kind


class BindingInfo(Message):
    undefined, out, inout = 0, 1, 2


class StatusResult(Message):
    Failure, Success = 0, 1


NAMES = (
    "WorkerInitResponse", "FunctionMetadataResponse", "WorkerMetadata", "RpcFunctionMetadata", "RpcRetryOptions",
    "InvocationResponse", "RpcException", "RpcHttp", "ParameterBinding",
)  # fmt: skip
PROTOS = Message(
    TypedData=TypedData, BindingInfo=BindingInfo, StatusResult=StatusResult, **dict.fromkeys(NAMES, Message)
)


async def index(app: str) -> dict[str, Any]:
    """Load and index an app, as the host does when it starts a worker."""
    sys.path[0] = app  # the folder of this file must not be importable for the app
    init = Message(worker_init_request=Message(capabilities={}, function_app_directory=app))
    answer = await worker.worker_init_request(Message(request=init, properties={"host": "127.0.0.1", "protos": PROTOS}))
    if answer.result.status != StatusResult.Success:
        return {"error": answer.result.exception.message}
    answer = await worker.functions_metadata_request(None)
    functions = {}
    for found in answer.function_metadata_results:
        IDS[found.name] = found.function_id
        functions[found.name] = {
            "bindings": [json.loads(text) for text in found.raw_bindings],
            "retries": found.retry_options and found.retry_options.max_retry_count,
        }
    loaded = sorted(name for name in ("deltalake", "pyarrow", "starlette", "yaml") if name in sys.modules)
    return {"functions": functions, "loaded": loaded}


IDS: dict[str, str] = {}


async def invoke(call: dict[str, Any]) -> dict[str, Any]:
    """Invoke a function as the host does. `result` is false if the host would count a failure and retry."""
    kind = call["kind"]
    value, said = {"http": _http, "events": _events, "timer": _timer}[kind](call)
    request = Message(
        invocation_id="1", function_id=IDS[call["function"]], trigger_metadata=said,
        trace_context=Message(trace_parent="", trace_state="", attributes={}),
        retry_context=Message(retry_count=0, max_retry_count=0, exception=None),
        input_data=[_Parameter(name=call["parameter"], data=value)],
    )  # fmt: skip
    answer = await worker.invocation_request(Message(request=Message(invocation_request=request)))
    if answer.result.status != StatusResult.Success:
        return {"result": False, "error": answer.result.exception.message}
    if kind != "http":
        return {"result": True}
    http = answer.return_value.http
    return {
        "result": True, "status": int(http.status_code), "headers": http.headers,
        "body": base64.b64encode(http.body.bytes).decode(),
    }  # fmt: skip


class _Parameter(Message):
    def WhichOneof(self, _: str) -> str:  # noqa: N802 - protobuf's name
        return "data"


def _http(call: dict[str, Any]) -> tuple[TypedData, dict[str, Any]]:
    body = base64.b64decode(call["body"])
    headers = {name.lower(): text for name, text in call["headers"].items() if text}
    handed_on = TypedData(bytes=body) if int(headers.get("content-length", 0)) > 0 else TypedData()
    http = Message(method=call["method"], url=call["url"], headers=headers, params={}, query={}, body=handed_on)
    return TypedData(http=http), {}


def _events(call: dict[str, Any]) -> tuple[TypedData, dict[str, Any]]:
    events = call["events"]
    system = [
        {"SequenceNumber": e["sequence"], "Offset": e["offset"], "PartitionKey": None, "EnqueuedTimeUtc": e["enqueued"]}
        for e in events
    ]
    said = {
        "PartitionContext": TypedData(
            json=json.dumps({"PartitionId": call["partition"], "ConsumerGroup": "headwater"})
        ),
        "PartitionKeyArray": TypedData(collection_string=Message(string=[])),
        "OffsetArray": TypedData(collection_string=Message(string=[e["offset"] for e in events])),
        "SequenceNumberArray": TypedData(collection_sint64=Message(sint64=[e["sequence"] for e in events])),
        "EnqueuedTimeUtcArray": TypedData(json=json.dumps([e["enqueued"] for e in events])),
        "PropertiesArray": TypedData(json=json.dumps([e["properties"] for e in events])),
        "SystemPropertiesArray": TypedData(json=json.dumps(system)),
    }
    bodies = [base64.b64decode(e["body"]) for e in events]
    return TypedData(collection_bytes=Message(bytes=bodies)), said


def _timer(_: dict[str, Any]) -> tuple[TypedData, dict[str, Any]]:
    return TypedData(json='{"IsPastDue": false}'), {}


def hide(packages: set[str]) -> None:
    """Make packages appear as if they were not installed."""
    for module, packages_of in packages_distributions().items():
        if {name.lower() for name in packages_of} <= packages:
            sys.modules[module] = None  # type: ignore[assignment] # what importlib takes for: cannot be imported


async def main() -> None:
    """Answer line by line. The event loop continues between lines, as in a worker."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # the worker library and the app may print
    hide(set(sys.argv[2:]))
    worker.start_threadpool_executor()
    loop = asyncio.get_running_loop()
    answers.write(json.dumps(await index(sys.argv[1])) + "\n")
    answers.flush()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        answers.write(json.dumps(await invoke(json.loads(line))) + "\n")
        answers.flush()


logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
asyncio.run(main())
