import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.events.redaction import may_need_redaction, redact_value
from headwater.events.redaction_names import is_secret_name
from headwater.events.redaction_rules import REDACTED, RULES, redact_text
from tests.fixtures.secrets.corpus import load_formats
from tests.support.data.planted_secrets import event, in_error, in_property, in_sql, in_variable, planted_events
from tests.support.paths import ROOT

PLANTED = planted_events()

SCHEMA = {"fields": [{"name": "password", "type": "string"}, {"name": "api_token", "type": "varchar(20)"}]}
LINEAGE = {
    "fields": {
        "password": {
            "inputFields": [{"namespace": "db", "name": "t", "field": "secret"}],
            "transformationType": "MASKED",
        },
        "api_token": {"inputFields": []},
    }
}
CLEAN: dict[str, Any] = {
    "columns named like secrets": {"schema": SCHEMA},
    "lineage of columns named like secrets": {"columnLineage": LINEAGE},
    "types by column": {"types": {"password": "string", "token": "decimal(10,2)", "api_key": "array<string>"}},
    "numbers and flags": {"token_count": 5, "password": 3, "masking": True, "secret": False, "token": None},
    "struct type": "struct<id:int,password:string,token:map<string,string>>",
    "printed schema": "root\n |-- password: string (nullable = true)\n |-- token: long",
    "abfss container": "abfss://container@account.dfs.core.windows.net/lake/Tables/x",
    "wasbs container": "wasbs://c@account.blob.core.windows.net",
    "port and at sign": "https://host:8443/path/user@example.com",
    "kafka": "kafka://one:9092,two:9092/topic@v1",
    "jdbc": "jdbc:postgresql://db.example.com:5432/sales?user=etl&ssl=true",
    "jdbc with user": "jdbc:sqlserver://db.example.com:1433;database=x;user=etl@db;encrypt=true",
    "oracle": "jdbc:oracle:thin:@//db:1521/orcl",
    "kerberos": "jdbc:hive2://h:10000/default;principal=hive/_HOST@EXAMPLE.COM",
    "spark master": "spark://CoarseGrainedScheduler@10.0.0.1:35111",
    "word look-alikes": "primary_key author tokenized_text keyboard secretary passwordless monkey",
    "sql on columns": "SELECT password, token AS t FROM u JOIN v ON u.token = v.token AND u.api_key=v.api_key",
    "sql ddl": "CREATE TABLE u (password STRING COMMENT 'hashed', secret BINARY, `token` STRING)",
    "merge": "UPDATE SET t.password = s.password, t.secret = sha2(s.secret, 256), t.x = 1",
    "placeholders": "jdbc:x?password=${DB_PASSWORD}&token={{secrets/scope/key}}&secret=?",
    "partition folders": "s3://lake/t/token=abc/api_key=7/secret=z/part-00000.parquet",
    "english": "Basic authentication or Bearer authentication, identified by name; tokens and secrets",
    "python": 'df.select("password", "email").withColumn("token", col("t"))',
    "reference to a secret": {"spark.secret.name": "kv-x", "token_type": "x", "spark.token.provider.class": "a.b.C"},
    "provider class": {"fs.azure.sas.token.provider.type": "org.apache.hadoop.Provider"},
    "working folder": [{"name": "PWD", "value": "/opt"}, {"name": "GOOGLE_CREDENTIALS", "value": "/x.json"}],
    "tag": [{"key": "token", "value": "true", "source": "x"}],
    "short code": "https://example.com/?code=DE&country=1",
    "delta schema": '{"fields":[{"name":"token","type":"string","nullable":true}]}',
    "hash and version": {"hash": "a" * 64, "version": "eyJhbGciOi", "key": "value"},
}  # fmt: skip

WORDS = st.sampled_from(
    [
        *("password", "token", "secret", "api_key", "AccountKey", "pwd", "fs.azure.account.key.a", "authorization"),
        *(
            "=",
            ":",
            " = ",
            ": ",
            "'",
            '"',
            "\\",
            "\\'",
            '\\"',
            "''",
            ";",
            "&",
            "?",
            "/",
            "//",
            "://",
            "@",
            ",",
            " ",
            "\n",
        ),
        *(
            "\t",
            "\x0b",
            "\x01",
            "{",
            "}",
            "(",
            ")",
            "-",
            "--",
            "[REDACTED]",
            "abc",
            "7",
            "user",
            "\u00fc",
            "\u017f",
            "\u212a",
        ),
        *("jdbc:oracle:thin:", "identified by ", "Bearer ", "Basic dTpw", "sig=", "?code=", "option(", "name", "value"),
        *("-----BEGIN PRIVATE KEY-----", "eyJhbGciOiJI", ".", "A" * 86 + "==", "AKIA" + "A" * 16, "dapi" + "a" * 32),
        *("abc8Q~" + "a" * 33, "%3D", "\u2028", ">", "</", "</name><value>", "_pass", "string", "N", "x_", "1"),
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=3), max_size=14).map("".join)
TREES = st.recursive(
    TEXTS | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
PAIRS = st.fixed_dictionaries({"name": TEXTS, "value": TEXTS}) | st.fixed_dictionaries({"value": TEXTS, "key": TEXTS})


@pytest.mark.parametrize(("planted", "secret"), [(e, s) for _, e, s in PLANTED], ids=[name for name, _, _ in PLANTED])
def test_a_planted_secret_is_gone_and_the_rest_of_the_event_survives(planted: dict[str, Any], secret: str) -> None:
    before = json.dumps(planted)
    clean = redact_value(planted)
    after = json.dumps(clean)

    kept_before, kept_after = after.split(REDACTED)
    hidden = before.removeprefix(kept_before).removesuffix(kept_after)

    assert secret in hidden
    assert secret not in after
    assert len(hidden) < len(secret) + 10
    assert json.dumps(planted) == before
    assert redact_value(clean) is clean


@pytest.mark.parametrize("planted", [e for _, e, _ in PLANTED], ids=[name for name, _, _ in PLANTED])
def test_a_planted_secret_is_suspected_in_every_spelling_of_json(planted: dict[str, Any]) -> None:
    assert all(may_need_redaction(spellings(planted)))


def test_the_planted_secrets_are_at_least_forty_and_names_and_hosts_stay_readable() -> None:
    assert len(PLANTED) >= 40
    assert redact_text("postgres://etl:hunter2@db:5432/x") == "postgres://etl:[REDACTED]@db:5432/x"
    assert redact_text("jdbc:sqlserver://db;user=u;password=hunter2;x=1") == (
        "jdbc:sqlserver://db;user=u;password=[REDACTED];x=1"
    )


@pytest.mark.parametrize("clean", CLEAN.values(), ids=CLEAN.keys())
def test_what_only_looks_like_a_secret_stays_the_very_same_object(clean: Any) -> None:
    assert redact_value(clean) is clean
    whole = event(run={"custom": clean})
    assert redact_value(whole) is whole


def test_ordinary_lookalikes_are_not_even_suspected() -> None:
    names = ["abfss container", "wasbs container", "port and at sign", "kafka", "jdbc", "jdbc with user", "oracle"]
    names += ["kerberos", "spark master", "word look-alikes", "short code", "numbers and flags"]
    names += ["columns named like secrets", "lineage of columns named like secrets"]
    flagged = dict(zip(names, may_need_redaction([json.dumps(CLEAN[name]).encode() for name in names]), strict=True))

    assert [name for name, found in flagged.items() if found] == []


def test_the_two_names_of_a_pair_and_their_order_do_not_matter() -> None:
    assert redact_value({"value": "x7", "name": "DB_PASSWORD"}) == {"value": REDACTED, "name": "DB_PASSWORD"}
    assert redact_value([{"Key": "apiKey", "Value": "x7"}]) == [{"Key": "apiKey", "Value": REDACTED}]


@pytest.mark.slow
@settings(deadline=None)
@given(TREES | st.lists(PAIRS, max_size=3))
def test_redaction_is_idempotent_and_keeps_what_it_need_not_change(value: Any) -> None:
    once = redact_value(value)

    assert redact_value(once) is once
    assert (once is value) == (once == value)


@pytest.mark.slow
@settings(deadline=None)
@given(TREES | st.lists(PAIRS, max_size=3) | st.lists(TEXTS, max_size=3))
def test_nothing_that_redaction_changes_goes_unsuspected(value: Any) -> None:
    if redact_value(value) is not value:
        assert all(may_need_redaction(spellings(value)))


def test_the_deepest_event_that_is_read_is_redacted_to_the_bottom() -> None:
    deep: Any = {"password": "hunter2"}
    for level in range(511):
        deep = [deep] if level % 2 else {"a": deep}

    assert "hunter2" not in json.dumps(redact_value(deep))
    assert redact_value(redact_value(deep)) == redact_value(deep)


@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "seed",
    [
        *("://u:", "jdbc:oracle:thin:a/", "token1", "password ", "password='", '\\"token', "eyJ", "--a--token "),
        *("account.key.", "user x identified ", "set('", "-----BEGIN ", "/a_token=", "A", "==", "Bearer ", "password="),
        *(
            "password=\\",
            "password: ",
            "basic ",
            "0Q~",
            "{{",
            "jdbc:oracle:",
            "authorization:",
            "?code=",
            "xox",
            "'",
            "token>",
        ),
    ],
)
def test_a_megabyte_built_to_be_slow_is_settled_all_the_same(seed: str, size: int) -> None:
    text = (seed * size)[:size]
    settled = redact_value(text)

    assert redact_value(settled) is settled
    assert settled is text or may_need_redaction([text.encode()]) == [True]


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", ["-", "--a", "a--"])
def test_time_is_linear_in_the_length_of_a_command_line(seed: str) -> None:
    """Three million characters take seconds. If a rule read on from every dash, they would take hours."""
    text = (seed * 3_000_000)[:3_000_000]

    assert redact_value(f"-- password=hunter2 {text}") == f"-- password=[REDACTED] {text}"


def test_every_rule_has_a_secret_planted_for_it() -> None:
    texts = [text.encode() for format_ in load_formats() for text in texts_of(format_.event)]

    assert [rule.name for rule in RULES if all(rule.apply(text) == text for text in texts)] == []


def test_texts_that_are_no_json_and_no_utf_8_are_looked_through_too() -> None:
    assert may_need_redaction([b'\xff\xfe{"password":"x7"', b"\xff", b""]) == [True, False, False]
    assert redact_value('{"password":"x7", broken') == '{"password":"[REDACTED]", broken'


def test_an_ordinary_place_for_each_text_keeps_the_words_around_the_secret() -> None:
    text = "user=bob password=hunter2 host=db"

    for place in (in_property(text), in_sql(text), in_error(text), in_variable(text, "OPTS")):
        assert "user=bob password=[REDACTED] host=db" in json.dumps(redact_value(place))


@pytest.mark.parametrize("name", ["x.password", "accessToken", "API-KEY", "db_pwd", "client.secret.acct", "PASSWORD2"])
def test_a_name_ends_in_the_word_that_tells(name: str) -> None:
    assert is_secret_name(name)
    assert not is_secret_name(f"{name.replace('.secret.', '.secretx.')}_count")


def test_the_documented_examples_come_out_as_documented() -> None:
    page = (ROOT / "docs/reference/redaction.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `")]
    examples = [(cells[2].strip(" `"), cells[3].strip(" `")) for cells in rows]
    wrong = [(before, after) for before, after in examples if "\u2026" not in before and show(before) != after]

    assert {cells[0].strip(" `") for cells in rows} >= {rule.name for rule in RULES}
    assert wrong == []


def show(before: str) -> str:
    """Return a documented example after redaction, as JSON if it is JSON, else as text."""
    value = json.loads(before) if before[0] in "{[" else before
    clean = redact_value(value)
    return clean if isinstance(clean, str) else json.dumps(clean)


def spellings(value: Any) -> list[bytes]:
    r"""Return the value in the JSON styles of producers: compact, pretty, ASCII only, with `\/`, and with escaped
    letters.
    """
    compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    pretty = json.dumps(value, indent=2, ensure_ascii=False)
    escaped = compact.replace("/", "\\/").replace("=", "\\u003d").replace("o", "\\u006F")
    return [text.encode("utf-8", "surrogatepass") for text in (compact, pretty, json.dumps(value), escaped)]


def texts_of(value: Any) -> list[str]:
    """Return all texts of a tree, including keys."""
    if isinstance(value, str):
        return [value]
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in parts for text in texts_of(part)]
