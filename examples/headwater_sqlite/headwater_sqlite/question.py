"""The question `without-owner`, which lists datasets without an owner."""

from headwater.index.reading.entity_lists import EntityLists
from headwater.questions import parameters as p
from headwater.questions.answer_types.common import AnswerStruct, Count, Dataset
from headwater.questions.declaring import question
from headwater.questions.definitions import QuestionSources


class WithoutOwner(AnswerStruct):
    """Datasets without an owner, by name. total: their number, of which `items` may contain only the first."""

    total: Count
    items: list[Dataset]


@question("without-owner")
def without_owner(sources: QuestionSources, *, limit: p.Listed = 100) -> WithoutOwner:
    """List the datasets without an owner."""
    known = sources.open_views.query_current_index(lambda live, rules: EntityLists(live, rules).datasets())
    names = sorted(each.name for each in known if not each.owners)
    return WithoutOwner(len(names), [Dataset(*name.parts) for name in names[:limit]])
