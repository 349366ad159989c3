"""Questions about names, the user's rules, and the configuration of producers."""

from headwater.questions import parameters as p
from headwater.questions.answer_types import columns as column_answers
from headwater.questions.answer_types import lists as list_answers
from headwater.questions.declaring import question
from headwater.questions.definitions.sources import QuestionSources
from headwater.questions.names import NamingEvent, active_rules_answer, explain_job, explain_name
from headwater.questions.producer_setup import producer_setups


@question("names")
def names(
    sources: QuestionSources, *, namespace: p.SentNamespace = "", name: p.SentName, at: p.At = None,
    job: p.NameOfJob = False, producer: p.SentProducer = None, job_namespace: p.SentJobNamespace = None,
) -> column_answers.Names:  # fmt: skip
    """Show which dataset or job a name means, and which rules applied."""
    if job:
        return explain_job(sources.rules().rules.names, namespace, name)
    event = NamingEvent(producer, job_namespace)
    rules = sources.rules().rules.names
    return explain_name(rules, namespace, name, at_us=at, bind=sources.open_views.resolution_steps, event=event)


@question("rules")
def rules(sources: QuestionSources) -> column_answers.Rules:
    """Show which of your rules are active, and errors in their files."""
    return active_rules_answer(sources.rules())


@question("connect")
def connect(_: QuestionSources, *, url: p.Address = "http://localhost:5000") -> list_answers.ProducerSetups:
    """Show configuration to copy so that Fabric, Databricks, Spark, Airflow, dbt or curl sends lineage here."""
    return producer_setups(url)
