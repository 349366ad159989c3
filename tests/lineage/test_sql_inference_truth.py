"""Rule 13 against independent sources: edges written by hand, recorded lineage, and the queries of TPC."""

from collections import Counter

import pytest

from bench.dialect_truth import TrueStatement, true_statements
from bench.executed_sql import Campaign
from bench.inference import PRECISION, RECALL, edges_of, like_with_like, measure
from bench.named_sql import outcome, some_statements
from bench.statements import statements
from bench.tpc_queries import tpc_inserts
from headwater.lineage.sql.script_reader import read_script
from tests.support.few_of_many import few_of

TRUE = list(true_statements())


@pytest.mark.parametrize("statement", TRUE, ids=[f"{each.dialect}: {each.name}" for each in TRUE])
def test_a_statement_has_the_edges_that_a_person_says_it_has(statement: TrueStatement) -> None:
    assert edges_of(statement.event) == (statement.edges, None)


@pytest.mark.slow
def test_of_recorded_statements_as_much_is_found_as_is_promised() -> None:
    tuned = [like_with_like(measure(each)) for each in statements() if not each.held_out]
    inferred, observed = (
        {(each.key, edge) for each in tuned for edge in getattr(each, of)} for of in ("inferred", "observed")
    )
    assert len(inferred & observed) >= PRECISION * len(inferred)
    assert len(inferred & observed) >= RECALL * len(observed)


@pytest.mark.slow
def test_the_queries_of_tpc_are_read_as_inserts() -> None:
    every = list(tpc_inserts())
    assert len(every) == 22 + 99
    for name, sql, tables in every:
        said = read_script(sql, "duckdb", tables)[len(tables) - 1]
        assert not isinstance(said, str), f"{name}: {said}"
        assert [each.casefold() for each in said.columns] == [each.casefold() for each in tables[-1].columns], name
        assert said.source_indexes, name


@pytest.mark.slow
@pytest.mark.parametrize("is_listed", [True, False])
def test_a_column_that_a_statement_names_is_used_whatever_names_it(is_listed: bool) -> None:
    found = Counter(outcome(each, is_listed=is_listed) for each in some_statements())
    assert found["missed"] == 0
    assert found["used"] > found.total() * 0.75


@pytest.mark.slow
@pytest.mark.parametrize("statements", few_of([500, 20_000], 1))
def test_no_column_that_matters_to_an_executed_statement_is_unused(statements: int) -> None:
    assert list(Campaign(seed=7).run(statements)) == []
