"""Secrets in events, to test the redaction rules and to search all stored files for unredacted bytes.

The secrets are assembled at run time, so that secret scanners do not report this repository.
"""

import base64
from typing import Any

PRODUCER = "https://example.com/planted"


def planted_events() -> list[tuple[str, dict[str, Any], str]]:
    """Return (name, a valid RunEvent, the secret in it). Every secret is different."""
    texts = [*_in_urls(), *_in_sql(), *_in_text(), *_in_shapes()]
    places = [in_property, in_sql, in_error, in_source, in_source_code]
    made = [(name, places[at % len(places)](text), secret) for at, (name, text, secret) in enumerate(texts)]
    return [*made, *_in_properties(), *_in_places()]


def event(
    *, run: dict[str, Any] | None = None, job: dict[str, Any] | None = None, inputs: list[Any] | None = None
) -> dict[str, Any]:
    """Return a valid RunEvent with these facets and inputs."""
    return {
        "eventTime": "2026-03-01T10:00:00Z",
        "producer": PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "eventType": "COMPLETE",
        "run": {"runId": "0195511c-9a0e-7c3c-8f0e-4d2f6a1b2c3d", "facets": run or {}},
        "job": {"namespace": "planted", "name": "a_job", "facets": job or {}},
        "inputs": inputs or [],
        "outputs": [{"namespace": "file", "name": "/survives"}],
    }


def in_property(text: str, name: str = "spark.some.text") -> dict[str, Any]:
    """Put the text into a Spark property."""
    return event(run={"spark_properties": {"_producer": PRODUCER, "properties": {name: text}}})


def in_variable(text: str, name: str) -> dict[str, Any]:
    """Put the text into an environment variable, as name and value."""
    return event(run={"environmentVariables": {"environmentVariables": [{"name": name, "value": text}]}})


def in_sql(text: str) -> dict[str, Any]:
    """Put the text into the job's SQL."""
    return event(job={"sql": {"_producer": PRODUCER, "query": text}})


def in_error(text: str) -> dict[str, Any]:
    """Put the text into a run's error message."""
    return event(run={"errorMessage": {"message": f"It failed: {text}", "programmingLanguage": "java"}})


def in_source(text: str) -> dict[str, Any]:
    """Put the text into an input's data source."""
    facets = {"dataSource": {"name": "source", "uri": text}}
    return event(inputs=[{"namespace": "db", "name": "t", "facets": facets}])


def in_source_code(text: str) -> dict[str, Any]:
    """Put the text into the job's source code with its quotes and line ends."""
    return event(job={"sourceCode": {"language": "PYTHON", "sourceCode": f"# \u00fc\n\tprint(1)\n{text}\n"}})


def secret(tag: str) -> str:
    """Return a secret that is easy to recognize."""
    return f"pLanted7{tag}x9Qz"


_Text = tuple[str, str, str]
_Planted = tuple[str, dict[str, Any], str]


def _in_urls() -> list[_Text]:
    forms = {
        "url userinfo": "postgres://etl:{}@db.example.com:5432/sales",
        "url with an at sign in the password": "amqp://etl:p@{}@mq.example.com/vhost",
        "url with a slash in the password": "ftp://etl:a/{}@files.example.com/x",
        "url without a user": "redis://:{}@cache.example.com:6379/0",
        "s3a with keys": "s3a://user:{}@bucket/path",
        "jdbc postgres": "jdbc:postgresql://db:5432/x?user=etl&password={}&ssl=true",
        "jdbc mysql": "jdbc:mysql://db:3306/x?user=etl&password={}",
        "jdbc sql server": "jdbc:sqlserver://db.example.com:1433;database=x;user=etl@db;password={};encrypt=true",
        "jdbc sql server in braces": "jdbc:sqlserver://db:1433;password={{a;{}}};encrypt=true",
        "jdbc access token": "jdbc:sqlserver://db:1433;databaseName=x;accessToken={}",
        "jdbc oracle": "jdbc:oracle:thin:scott/{}@//db:1521/orcl",
        "jdbc snowflake": "jdbc:snowflake://acct.snowflakecomputing.com/?user=etl&warehouse=w&password={}&db=d",
        "jdbc redshift": "jdbc:redshift://c.example.com:5439/dev;UID=etl;PWD={}",
        "jdbc databricks": "jdbc:databricks://adb.example.net:443;AuthMech=3;UID=token;PWD={}",
        "sas in a url": "https://acct.blob.core.windows.net/c/f.csv?sv=2022-11-02&sr=b&sig={}%3D&se=2026-01-01",
        "function key": "https://fn.azurewebsites.net/api/v1/lineage?code={}",
        "aws presigned": "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}",
        "api key in a query": "https://api.example.com/v1?api_key={}&q=1",
    }
    return _fill("url", forms)


def _in_sql() -> list[_Text]:
    forms = {
        "identified by": "CREATE USER bob IDENTIFIED BY '{}'",
        "identified by, bare": "ALTER USER bob IDENTIFIED BY {}",
        "password equals": "ALTER LOGIN bob WITH PASSWORD = '{}', CHECK_POLICY = OFF",
        "password then quoted": "CREATE ROLE bob LOGIN PASSWORD '{}' VALID UNTIL '2027-01-01'",
        "doubled quotes": "ALTER LOGIN bob WITH PASSWORD = N'it''s {}'",
        "spark options": "CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:x', `password` '{}')",
        "redshift credentials": "COPY t FROM 's3://b/k' CREDENTIALS 'region=eu;aws_secret_access_key={}'",
        "snowflake sas": "COPY INTO t FROM 'azure://a/c' CREDENTIALS=(AZURE_SAS_TOKEN='?sv=1&s={}')",
        "snowflake secret key": "CREATE STAGE s CREDENTIALS = (AWS_KEY_ID = 'id' AWS_SECRET_KEY = '{}')",
        "synapse copy": "COPY INTO t WITH (CREDENTIAL = (IDENTITY = 'Storage Account Key', SECRET = '{}'))",
        "scoped credential": "CREATE DATABASE SCOPED CREDENTIAL c WITH IDENTITY = 'x',\n\tSECRET\n=\n'{}'",
        "unterminated": "ALTER LOGIN bob WITH PASSWORD = '{}",
        "set property": "SET fs.azure.account.key.acct.dfs.core.windows.net={}",
    }
    return _fill("sql", forms)


def _in_text() -> list[_Text]:
    forms = {
        "ado": "Server=tcp:db,1433;Initial Catalog=x;User ID=etl;Password={};Encrypt=True",
        "odbc": "Driver={{ODBC Driver 18}};Server=db;Uid=etl;Pwd={};",
        "ado with spaces": "Server=db;Password = {} ;Encrypt=True",
        "storage connection string": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==;EndpointSuffix=x",
        "event hub": "Endpoint=sb://e.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}=",
        "shared access signature": "SharedAccessSignature sr=https%3A%2F%2Fe&sig={}%3D&se=1700000000&skn=Root",
        "command line": "spark-submit --master yarn --password {} app.py",
        "command line with equals": "spark-submit --conf spark.db.api-token={} app.py",
        "jaas": 'PlainLoginModule required username="etl" password="{}";',
        "python option": 'spark.read.format("jdbc").option("password", "{}").load()',
        "python conf": "spark.conf.set('fs.azure.account.key.acct.dfs.core.windows.net',\n  '{}')",
        "python f-string": 'connect(user="bob", password=f"{}")',
        "json in text": '{{"user": "bob", "client_secret": "{}"}}',
        "escaped json in text": '{{\\"user\\": \\"bob\\", \\"apiKey\\": \\"{}\\"}}',
        "pair in json in text": '[{{"name": "DB_PASSWORD", "value": "{}"}}]',
        "java map": "{{user=bob, secret={}, x=1}}",
        "yaml": "user: bob\npassword: {}\nport: 1",
        "xml element": "<connection><password>{}</password></connection>",
        "hadoop xml": "<property><name>fs.s3a.secret.key</name>\n<value>{}</value></property>",
        "short name": "user=bob db_pass={} port=1",
        "bearer": "header was Bearer {}",
        "authorization header": "Authorization: Token {}",
    }
    return _fill("text", forms)


def _in_shapes() -> list[_Text]:
    long = "Qz7x9" * 20
    basic = base64.b64encode(b"etl:pLanted7basic").decode()
    key = long[:86] + "=="
    shapes = {
        "aws key id": "AKIA" + "QZ7X" * 4,
        "aws temporary key id": "ASIA" + "QZ7X" * 4,
        "google api key": "AIza" + long[:35],
        "databricks token": "dapi" + "7a9c" * 8,
        "github token": "ghp_" + long[:36],
        "github fine-grained token": "github_pat_" + long[:22] + "_" + long[:59],
        "slack token": "xoxb-" + "7" * 12 + "-" + long[:24],
        "jwt": ".".join(["eyJ" + long[:20], "eyJ" + long[:30], long[:43]]),
        "entra client secret": "abc8Q" + "~" + long[:34],
        "storage account key": key,
        "private key": "MIIE" + long + long,
        "basic": basic,
    }
    texts = dict.fromkeys(shapes, "saw {} in passing")
    texts["private key"] = f"-----BEGIN {'PRIVATE'} KEY-----\n{{}}\n-----END {'PRIVATE'} KEY-----\n"
    texts["basic"] = "curl -H 'x: Basic {}'"
    return [(name, texts[name].format(shape), shape) for name, shape in shapes.items()]


def _in_properties() -> list[_Planted]:
    names = [
        "fs.azure.account.key.acct.dfs.core.windows.net",
        "fs.azure.account.oauth2.client.secret.acct.dfs.core.windows.net",
        "fs.azure.sas.container.acct.blob.core.windows.net",
        "fs.s3a.secret.key",
        "fs.s3a.access.key",
        "spark.hadoop.javax.jdo.option.ConnectionPassword",
        "spark.openlineage.transport.auth.apiKey",
        "spark.openlineage.transport.headers.x-functions-key",
        "spark.openlineage.transport.urlParams.code",
        "spark.db.secret",
        "spark.databricks.token",
        "spark.ssl.keyStorePassword",
    ]
    found = [
        (f"property {name}", in_property(secret(f"p{at}"), name), secret(f"p{at}")) for at, name in enumerate(names)
    ]
    variables = ["PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "AZURE_CLIENT_SECRET", "GITHUB_TOKEN", "MYSQL_PWD"]
    return found + [
        (f"variable {name}", in_variable(secret(f"v{at}"), name), secret(f"v{at}")) for at, name in enumerate(variables)
    ]


def _in_places() -> list[_Planted]:
    url = f"mysql://etl:{secret('ns')}@db.example.com:3306"
    name = f"jdbc:mysql://etl:{secret('name')}@db/x.t"
    keyed = f"https://etl:{secret('key')}@example.com"
    deep: Any = {"db_password": secret("deep")}
    for level in range(200):
        deep = [deep] if level % 2 else {"inner": deep}
    lineage = {"fields": {"password": {"inputFields": [{"namespace": url, "name": "t", "field": "token"}]}}}
    job_named = event()
    job_named["job"]["name"] = f"load https://etl:{secret('job')}@example.com"
    return [
        ("dataset namespace", event(inputs=[{"namespace": url, "name": "t"}]), secret("ns")),
        ("dataset name", event(inputs=[{"namespace": "db", "name": name}]), secret("name")),
        ("job name", job_named, secret("job")),
        ("key of an object", event(run={"custom": {keyed: 1}}), secret("key")),
        ("deep in a custom facet", event(run={"custom": {"value": deep}}), secret("deep")),
        ("argument list", event(run={"custom": {"args": ["--password", secret("arg")]}}), secret("arg")),
        ("key and value", event(run={"custom": [{"value": secret("kv"), "key": "api_key"}]}), secret("kv")),
        (
            "namespace inside column lineage",
            event(inputs=[{"namespace": "db", "name": "t", "facets": {"columnLineage": lineage}}]),
            secret("ns"),
        ),
        ("header", event(run={"http": {"Authorization": f"Custom {secret('header')}"}}), secret("header")),
        ("facet that is a text", event(run={"apiKey": secret("facet")}), secret("facet")),
    ]


def _fill(family: str, forms: dict[str, str]) -> list[_Text]:
    """Return (name, text, secret) for each form, in which the secret replaces `{}`."""
    secrets = [secret(f"{family}{at}") for at in range(len(forms))]
    return [(name, form.format(hidden), hidden) for (name, form), hidden in zip(forms.items(), secrets, strict=True)]
