"""Check requests and answers against Microsoft's description of Fabric's REST API, taken from its Python SDK."""

import inspect
import re
import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

_AREAS = ("core", "environment", "datapipeline")
_REQUEST = re.compile(r"^def build_\w+_request\(.*?(?=^def |^class )", re.MULTILINE | re.DOTALL)
_URL = re.compile(r'_url = "([^"]+)"')
_METHOD = re.compile(r'HttpRequest\(method="(\w+)"')
_QUERY = re.compile(r'_params\["(\w+)"\]')
_ENUM = re.compile(r":vartype (\w+): str or\s+~[\w.]+\.models\.(\w+)")
_PRIMITIVES: dict[str, tuple[type, ...]] = {
    "str": (str,), "bool": (bool,), "int": (int,), "float": (int, float), "iso-8601": (str,), "object": (dict,),
}  # fmt: skip


class Route(NamedTuple):
    """A request of Fabric's API. template: its documented path, such as `/workspaces/{workspaceId}/items`."""

    method: str
    template: str
    pattern: re.Pattern[str]
    query: frozenset[str]


@cache
def routes() -> list[Route]:
    """Return all requests of the API areas that we use."""
    found = []
    for area in _AREAS:
        source = inspect.getsource(_module(area, "operations._operations"))
        for text in (match[0] for match in _REQUEST.finditer(source)):
            url, method = _URL.search(text), _METHOD.search(text)
            assert url, text[:100]
            assert method, text[:100]
            pattern = re.compile("/v1" + re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(url[1])))
            found.append(Route(method[1], url[1], pattern, frozenset(_QUERY.findall(text))))
    return found


def route_of(method: str, path: str, query: dict[str, str]) -> tuple[Route, dict[str, str]]:
    """Return the route of a request and its path parameters. Raises AssertionError if Fabric has no such route."""
    for route in routes():
        if route.method == method and (found := route.pattern.fullmatch(path)):
            unknown = query.keys() - route.query - {"continuationToken"}
            assert not unknown, f"{method} {route.template} has no parameter {sorted(unknown)}"
            return route, found.groupdict()
    raise AssertionError(f"Fabric has no {method} {path}")


def problems(value: Any, model: str, area: str = "core", where: str = "") -> list[str]:
    """Return how a JSON value differs from Microsoft's model: unknown fields, missing fields and wrong types."""
    if model.startswith("["):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [each for one in value for each in problems(one, model[1:-1], area, where)]
    if model.startswith("{"):
        return [] if isinstance(value, dict) else [f"{where} is no mapping"]
    if model in _PRIMITIVES:
        fits = isinstance(value, _PRIMITIVES[model]) and isinstance(value, bool) <= (model == "bool")
        return [] if fits else [f"{where} is no {model}: {value!r}"]
    return _problems_of_object(value, _model(model, area), area, where)


def _problems_of_object(value: Any, model: Any, area: str, where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    for name, kinds in vars(model).get("_subtype_map", {}).items():
        kind = value.get(model._attribute_map[name]["key"])
        if kind not in kinds:
            return [f"{where}.{name} is {kind!r}, none of {sorted(kinds)}"]
        return _problems_of_object(value, _model(kinds[kind], area), area, where)
    known = {each["key"]: (name, each["type"]) for name, each in model._attribute_map.items()}
    found = [f"{where} has no {key!r}" for key in value.keys() - known.keys()]
    for key, (name, kind) in known.items():
        rule = model._validation.get(name, {})
        if value.get(key) is None:
            found += [f"{where} wants {key!r}"] * bool(rule.get("required") and not rule.get("readonly"))
        else:
            found += problems(value[key], kind, area, f"{where}.{key}")
            found += _no_such_value(value[key], model, name, area, f"{where}.{key}")
    return found


def _no_such_value(value: Any, model: Any, name: str, area: str, where: str) -> list[str]:
    enum = dict(_ENUM.findall(model.__doc__ or "")).get(name)
    if enum is None or not isinstance(value, str):
        return []
    values = [each.value for each in _model(enum, area)]
    return [] if value in values else [f"{where} is {value!r}, none of {values}"]


def _model(name: str, area: str) -> Any:
    models = _module(area, "models._models")
    return getattr(models, name, None) or getattr(_module(area, "models._enums"), name)


def _module(area: str, name: str) -> ModuleType:
    with warnings.catch_warnings():  # the SDK's texts contain invalid escape sequences
        warnings.simplefilter("ignore")
        return import_module(f"microsoft_fabric_api.generated.{area}.{name}")
