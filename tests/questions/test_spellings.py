"""One hundred spellings of twenty tables lead to the right table, or to candidates, in each of eight ways to ask."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from mcp.server.mcpserver.exceptions import ToolError

from headwater.api import routes
from headwater.cli.agents.mcp_server import AgentTools
from headwater.cli.server_client import ServerClient
from headwater.common.errors import HeadwaterError
from headwater.governance.planning.schema import PresentTables
from headwater.questions import definitions
from tests.reference.small_events import Named, run, with_schema
from tests.reference.world_events import Json, dataset, facet, symlinks
from tests.support.commands import commanded
from tests.support.data.shop import Asker, up
from tests.support.paths import FIXTURES

pytestmark = pytest.mark.slow  # starts Headwater

FILE = yaml.safe_load((FIXTURES / "spellings.yaml").read_text("utf-8"))
IDS = {
    "SALES": "3f2a9c1e-0000-4000-8000-00000000aa01", "HR": "3f2a9c1e-0000-4000-8000-00000000aa02",
    "LH": "3eb04867-0000-4000-8000-0000000000b1", "HR_LH": "3eb04867-0000-4000-8000-0000000000b2",
    "FLAT": "3eb04867-0000-4000-8000-0000000000b3",
}  # fmt: skip
CALLED = {"SALES": "Sales", "HR": "HR", "LH": "lh.Lakehouse", "HR_LH": "lh.Lakehouse", "FLAT": "flat.Lakehouse"}
METADATA = f"""kind,id,name,parent,target
workspace,{IDS["SALES"]},Sales,,
workspace,{IDS["HR"]},HR,,
item,{IDS["LH"]},lh.Lakehouse,Sales,
item,{IDS["HR_LH"]},lh.Lakehouse,HR,
item,{IDS["FLAT"]},flat.Lakehouse,Sales,Tables/{{table}}
warehouse,x.datawarehouse.fabric.microsoft.com,,Sales,
alias,,Best customers,s3://gold,customers_best
"""
LINKED = {
    "managed": ("databricks://adb-1.azuredatabricks.net", "main.crm.managed"),
    "best": ("hive://meta", "mart.best"),
}
RAW = ("s3://raw", "everything")


class Lake(Asker):
    """A running Headwater that the tests also ask like the command line does."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.answers = ServerClient(url, None)

    def close(self) -> None:
        self.answers.close()
        self.client.close()


Ask = Callable[[str, str], Named]
"""Asks with a spelling and the namespace as sent. Returns the dataset or raises Several."""


class Several(Exception):
    """The question was refused. The text contains the candidates."""


def canonical(table: str) -> Named:
    namespace, name = FILE["tables"][table][2].split(" ")
    workspace, at, _ = namespace.partition("@")
    item, slash, path = name.partition("/")
    if at:
        return f"abfss://{IDS[workspace]}@onelake.dfs.fabric.microsoft.com", f"{IDS[item]}{slash}{path}"
    return namespace, name


def events() -> Iterator[Json]:
    for number, (table, (namespace, name, _, _)) in enumerate(FILE["tables"].items(), 1):
        linked = LINKED.get(table)
        told = {"symlinks": symlinks(linked)} if linked else {}
        told |= {"documentation": facet(description="Who pays late.")} if table == "ledger" else {}
        fields = (
            [{"name": "id", "description": "Number of the dunning letter."}] if table == "people" else [{"name": "id"}]
        )
        output = dataset((namespace, name), schema=facet(fields=fields), **told)
        yield run(number, number, output, reads=[with_schema(RAW, "id")], job=f"to_{table}")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("spellings") / "data"
    (folder / "rules").mkdir(parents=True)
    (folder / "rules" / "metadata.csv").write_text(METADATA)
    with up(folder) as running, closing(Lake(running.url)) as asker:
        asker.post(*events())
        yield asker


def asked_over_http(lake: Lake, question: str, **parameters: Any) -> Any:
    answer = lake.get(question, **parameters)
    if answer.status_code == 400:
        raise Several(answer.json()["error"])
    assert answer.status_code == 200, answer.text
    return answer.json()


def by_page(lake: Lake) -> Ask:
    """Ask as the lineage page does, whose address contains the name as typed."""

    def ask(text: str, _: str) -> Named:
        found = asked_over_http(lake, "lineage", dataset=text, up=1, down=1, system="true")
        table = next(each for each in found["tables"] if each["distance"] == 0)
        return table["namespace"], table["dataset"]

    return ask


def by_http(lake: Lake) -> Ask:
    def ask(text: str, _: str) -> Named:
        found = asked_over_http(lake, "upstream", dataset=text)["column"]
        return found["namespace"], found["dataset"]

    return ask


def by_cli(lake: Lake) -> Ask:
    """Ask as a command does. Every twentieth time this runs the command itself, which costs 0.3 s of CPU time."""
    commands = {*list(FILE["spellings"])[::20]}

    def ask(text: str, _: str) -> Named:
        try:
            found = lake.answers.ask(definitions.upstream, {"dataset": text})["column"]
        except HeadwaterError as error:
            raise Several(str(error)) from error
        if text in commands:
            said = commanded("upstream", text, "--json", "--server", str(lake.client.base_url))
            assert json.loads(said.stdout)["column"] == found, said.stderr
        return found["namespace"], found["dataset"]

    return ask


def by_contracts(lake: Lake) -> Ask:
    def ask(text: str, _: str) -> Named:
        found = asked_over_http(lake, "contract", dataset=text)["dataset"]
        return found["namespace"], found["dataset"]

    return ask


def by_marquez(lake: Lake) -> Ask:
    def ask(text: str, namespace: str) -> Named:
        answer = lake.client.get(f"/api/v1/namespaces/{quote(namespace, safe='')}/datasets/{quote(text, safe='')}")
        if answer.status_code == 400:
            raise Several(answer.json()["message"])
        assert answer.status_code == 200, answer.text
        return answer.json()["namespace"], answer.json()["name"]

    return ask


def by_agents(lake: Lake) -> Ask:
    tools = AgentTools(lake.answers)

    def ask(text: str, _: str) -> Named:
        try:
            told = tools.describe(text).structured_content
        except ToolError as error:
            raise Several(str(error)) from error
        assert told is not None
        return "", told["dataset"]

    return ask


def by_plan(lake: Lake) -> Ask:
    questions, answers = {each.path: each for each in routes.ROUTES}, lake.answers
    tables = PresentTables(lambda question, asked: answers.ask(questions[question], asked), None)

    def ask(text: str, _: str) -> Named:
        try:
            table = tables.find_table(text)
        except HeadwaterError as error:
            raise Several(str(error)) from error
        assert table is not None, text
        return table.namespace, table.dataset

    return ask


def by_search(lake: Lake) -> Ask:
    def ask(text: str, _: str) -> Named:
        items = asked_over_http(lake, "search", q=text, kinds="dataset,alias", limit=20)["items"]
        found = [(each["means"] or {**each, "dataset": each["name"]}) for each in items]
        names = list(dict.fromkeys((each["namespace"], each["dataset"]) for each in found))
        assert names, text
        if len(names) > 1:
            raise Several(", ".join("/".join(each) for each in names))
        return names[0]

    return ask


WAYS = [by_page, by_cli, by_http, by_marquez, by_agents, by_contracts, by_plan, by_search]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.removeprefix("by_"))
def test_a_hundred_spellings_lead_to_the_same_tables(lake: Lake, way: Callable[[Lake], Ask]) -> None:
    ask, wrong = way(lake), []
    for text, means in FILE["spellings"].items():
        tables = [means] if isinstance(means, str) else means
        namespace = canonical(tables[0])[0]
        try:
            found = ask(text, namespace)
        except Several as refused:
            shown = [any(each in str(refused) for each in names(table)) for table in tables]
            if not all(shown):
                wrong.append((text, str(refused)))
        except AssertionError as error:
            wrong.append((text, str(error)[:300]))
        else:
            fitting = {each for table in tables for each in (*names(table), canonical(table))}
            if found not in fitting and "/".join(found).strip("/") not in fitting:
                wrong.append((text, repr(found)))
    assert not wrong, "\n".join(map(repr, wrong))


def test_answers_show_display_names_where_these_differ_from_canonical_names(lake: Lake) -> None:
    for table, (_, _, _, display) in FILE["tables"].items():
        namespace, name = canonical(table)
        shown = lake.ask("upstream", namespace=namespace, dataset=name)["column"].get("display_name", name)
        place = f"/api/v1/namespaces/{quote(namespace, safe='')}/datasets/{quote(name, safe='')}"
        found = lake.client.get(place).json()
        assert (shown, found.get("displayName", name)) == (display, display)
    listed = {each["display_name"] for each in lake.ask("datasets")["items"] if "display_name" in each}
    assert listed == {each[3] for table, each in FILE["tables"].items() if each[3] != canonical(table)[1]}
    told = AgentTools(lake.answers).describe("silver.orders").structured_content
    assert told is not None
    assert told["dataset"] == "lh.silver.orders"
    printed = commanded("unused", "silver/orders", "--server", str(lake.client.base_url)).stdout
    assert "lh.silver.orders#id" in printed
    assert IDS["LH"] not in printed


def test_policies_fit_display_names_and_show_them(lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "policies.yml"
    file.write_text("version: 1\npolicies: {owned: {owner: [lh.silver.orders]}}")
    found = commanded(
        "contract", "check", "--policies", file, tmp_path, "--server", str(lake.client.base_url), "--json"
    )
    (item,) = json.loads(found.stdout)["items"]
    assert (item["kind"], item["dataset"]) == ("policy.owner", "/".join(canonical("orders")))
    assert item["display_name"] == "lh.silver.orders"


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("lh.silver.cust", ("dataset", "HR.lh.silver.customers", None, "word")),
        ("flat.it", ("dataset", "flat.items", None, "word")),
        ("pays late", ("dataset", "FIN.BOOK.LEDGER", None, "description")),
        ("dunning", ("column", "shop.hr.people", "id", "description")),
        ("to_ledger", ("job", "to_ledger", None, "exact")),
        ("`main`.`crm`.`deals`", ("dataset", "main.crm.deals", None, "exact")),
    ],
)
def test_search_looks_at_display_names_and_descriptions(
    lake: Lake, text: str, hit: tuple[str, str, str | None, str]
) -> None:
    items = lake.ask("search", q=text)["items"]
    found = [(each["kind"], each.get("display_name", each["name"]), each["column"], each["match"]) for each in items]
    assert hit in found, found


def names(table: str) -> tuple[str, ...]:
    """Return the names by which answers and refusals may display a table."""
    namespace, name, _, display = FILE["tables"][table]
    whole = written = "/".join(canonical(table))
    for label, item in CALLED.items():
        written = written.replace(IDS[label], item)
    return whole, written, display, f"{namespace}/{name}"
