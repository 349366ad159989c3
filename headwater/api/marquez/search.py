"""The two searches of Marquez. They use our search: best match first, tolerant of typing mistakes."""

from headwater.api.marquez.nodes import dataset_id, job_id
from headwater.api.marquez.requests import Answer, MarquezError, RequestContext, required_parameter
from headwater.api.marquez.texts import raw_facets
from headwater.common.errors import WrongQuestion
from headwater.common.paging import ListPage
from headwater.index.reading.search import Search
from headwater.index.stored.database import DATASET
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.lost_runs import ENDED
from headwater.questions.answer_types.columns import Found, SearchAnswer
from headwater.questions.parameters import MAX_FOUND
from headwater.questions.search import search_answer
from headwater.questions.subjects import datasets_with_complete_name

_KINDS = {"JOB": "job", "DATASET": "dataset"}
_SENT = {kind: sent for sent, kind in _KINDS.items()}


def search_all(search: Search, context: RequestContext) -> Answer:
    """GET /search: `filter` is JOB or DATASET; `totalCount` is the number of results, as in Marquez."""
    kind = context.query.get("filter", "").upper()
    if kind and kind not in _KINDS:
        message = f"query param filter must be one of [DATASET, JOB], not {kind[:40]!r}."
        raise MarquezError(400, {"code": 400, "message": message})
    found = _find_things(search, context, [_KINDS[kind]] if kind else list(_SENT), context.list_range(10).limit)
    results = [_to_result(item) for item in found.items]
    return {"totalCount": len(results), "results": results, "truncated": found.truncated}


def _find_things(search: Search, context: RequestContext, kinds: list[str], limit: int) -> SearchAnswer:
    if limit == 0:
        return SearchAnswer([], totalCount=0, truncated=True, next=None)
    text = required_parameter(context.query, "q")
    named = (
        datasets_with_complete_name(context.view.snapshot, context.view.rules.names, text) if "dataset" in kinds else ()
    )
    try:
        return search_answer(
            search, text, kinds=kinds, exact_datasets=named, page=ListPage(limit=min(limit, MAX_FOUND))
        )
    except WrongQuestion as error:
        raise MarquezError(400, {"code": 400, "message": str(error)}) from error


def _to_result(item: Found) -> Answer:
    name = Name(item.namespace, item.name)
    return {
        "type": _SENT[item.kind],
        "name": name.name,
        "namespace": name.namespace,
        "nodeId": job_id(name) if item.kind == "job" else dataset_id(name),
        "updatedAt": item.last_seen,
    }


def search_jobs(search: Search, context: RequestContext) -> Answer:
    """GET /api/v2beta/search/jobs."""
    found = _find_things(search, context, ["job"], context.list_range(10).limit)
    hits = []
    for item in found.items:
        name = Name(item.namespace, item.name)
        row = context.catalog.find_job(name)
        newest = context.catalog.runs.newest_runs(row.key_number, 1) if row else []
        state = newest[0].state if newest else None
        hits.append({
            "run_id": newest[0].run if newest else None, "name": name.name, "namespace": name.namespace,
            "eventType": "ABORT" if state == ENDED else state,
            "type": newest[0].processing if newest else "BATCH",
            "facets": raw_facets(context.catalog.job_facets(name)), "runFacets": {},
        })  # fmt: skip
    return {"hits": hits, "highlights": [{} for _ in hits], "truncated": found.truncated}


def search_datasets(search: Search, context: RequestContext) -> Answer:
    """GET /api/v2beta/search/datasets."""
    found = _find_things(search, context, ["dataset"], context.list_range(10).limit)
    hits = []
    for item in found.items:
        name = Name(item.namespace, item.name)
        newest = context.catalog.versions.versions(DATASET, context.catalog.number_of_name(name), 1)
        facets = raw_facets(context.catalog.dataset_facets(name))
        run = newest[0].run if newest else None
        hits.append({**name.as_json, "run_id": run, "eventType": None, "facets": facets})
    return {"hits": hits, "highlights": [{} for _ in hits], "truncated": found.truncated}
