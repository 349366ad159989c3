"""All questions, by name. Routes and commands import them from here.

For example, `declared.impact` is the question `impact`. The OpenAPI document and the help of commands use the order of
this module.
"""
# ruff: noqa: I001

from headwater.questions.declared.question_sources import QuestionSources
from headwater.questions.declared.walk_questions import impact, upstream, path, edge
from headwater.questions.declared.column_questions import surface, unused, coverage
from headwater.questions.declared.change_questions import diff, changes, timeline
from headwater.questions.declared.list_questions import datasets, listed_jobs, listed_runs, facets, search
from headwater.questions.declared.run_questions import run, run_details, hierarchy
from headwater.questions.declared.health_questions import health, health_shown, readers
from headwater.questions.declared.report_questions import reported, unreported
from headwater.questions.declared.contract_questions import contract
from headwater.questions.declared.setup_questions import names, rules, connect
from headwater.questions.declared.picture_questions import graph, around, jobs

__all__ = [
    "QuestionSources",
    "around",
    "changes",
    "connect",
    "contract",
    "coverage",
    "datasets",
    "diff",
    "edge",
    "facets",
    "graph",
    "health",
    "health_shown",
    "hierarchy",
    "impact",
    "jobs",
    "listed_jobs",
    "listed_runs",
    "names",
    "path",
    "readers",
    "reported",
    "rules",
    "run",
    "run_details",
    "search",
    "surface",
    "timeline",
    "unreported",
    "unused",
    "upstream",
]
