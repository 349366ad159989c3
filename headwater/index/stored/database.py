"""The index file: one SQLite database for each version of the rules. If it is lost, it is rebuilt from bronze."""

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from headwater.common.errors import LakeUnavailable, NotBuilt, WrongSetting
from headwater.common.resources import close_on_error
from headwater.common.storage_faults import explain_storage_error
from headwater.index.stored.integrity import SUFFIX, check_pages, is_damage, mark_wal_pages
from headwater.index.stored.older_file import create_current_views
from headwater.lineage.rules.rule_code import rule_code_hash

log = logging.getLogger(__name__)

FORMAT = 22
OLDEST = 5
"""The oldest format that can be read. A file of an older format is used until one of the current format is built."""

T = TypeVar("T")

GENERATIONS = ("edge_sets", "datasets", "entities", "changes", "rewrites")
"""Tables whose rows contain the generation, that is, the number of the batch that last changed them."""

_AT_ONCE = 500

SCHEMA = """
CREATE TABLE positions(incarnation TEXT, part TEXT, sequence INTEGER NOT NULL, PRIMARY KEY(incarnation, part));
CREATE TABLE set_aside(
  log TEXT, incarnation TEXT, part TEXT, sequence INTEGER, event_id TEXT, received_us INTEGER, at_us INTEGER,
  reason TEXT, message TEXT, PRIMARY KEY(incarnation, part, sequence));
CREATE TABLE names(
  id INTEGER PRIMARY KEY, namespace TEXT, name TEXT, generation TEXT NOT NULL DEFAULT '',
  UNIQUE(namespace, name, generation));
CREATE TABLE contents(hash TEXT, kind TEXT, value BLOB NOT NULL, PRIMARY KEY(hash, kind)) WITHOUT ROWID;
CREATE TABLE run_keys(id INTEGER PRIMARY KEY, key TEXT UNIQUE);
CREATE TABLE dataset_uses(id INTEGER PRIMARY KEY, digest BLOB UNIQUE, value BLOB NOT NULL);
CREATE TABLE event_contents(id INTEGER PRIMARY KEY, digest BLOB UNIQUE, value BLOB NOT NULL);
CREATE TABLE event_facts(
  run INTEGER, event BLOB, content INTEGER, versions BLOB, time_us INTEGER, received_us INTEGER, execution INTEGER,
  parent INTEGER, place INTEGER, sequence INTEGER, facet_names INTEGER, nominal_us INTEGER, PRIMARY KEY(run, event))
  WITHOUT ROWID;
CREATE TABLE periods(run INTEGER PRIMARY KEY, time_us INTEGER NOT NULL);
CREATE TABLE facet_names(id INTEGER PRIMARY KEY, value BLOB UNIQUE);
CREATE TABLE runs(
  run INTEGER PRIMARY KEY, kind TEXT, job INTEGER, job_key INTEGER, execution INTEGER, parent INTEGER, state TEXT,
  processing TEXT, started_us INTEGER, ended_us INTEGER, last_us INTEGER, time_us INTEGER, datasets BLOB,
  producer INTEGER, completed INTEGER, sent_job INTEGER);
CREATE INDEX runs_sent_job ON runs(sent_job) WHERE sent_job IS NOT NULL;
CREATE INDEX runs_of_job ON runs(job_key, time_us);
CREATE INDEX runs_of_time ON runs(time_us);
CREATE INDEX runs_of_execution ON runs(execution, time_us) WHERE execution <> run;
CREATE INDEX runs_of_parent ON runs(parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_open ON runs(time_us) WHERE state = 'RUNNING';
CREATE INDEX runs_failed ON runs(job_key, time_us) WHERE state IN ('FAIL', 'ABORT');
CREATE TABLE job_outputs(id INTEGER PRIMARY KEY, layer TEXT, job INTEGER, output INTEGER, UNIQUE(layer, job, output));
CREATE INDEX job_outputs_of_output ON job_outputs(output);
CREATE TABLE candidates(
  run INTEGER, job_output INTEGER, time_us INTEGER, tie TEXT, execution INTEGER, started_us INTEGER, last_us INTEGER,
  weight INTEGER, rows_confirmed INTEGER, rewrites INTEGER, period_us INTEGER, edge_set INTEGER,
  PRIMARY KEY(run, job_output)) WITHOUT ROWID;
CREATE INDEX candidates_newest ON candidates(job_output, weight, time_us);
CREATE INDEX candidates_period ON candidates(job_output, weight, period_us);
CREATE INDEX candidates_of_execution ON candidates(execution, job_output, edge_set);
CREATE INDEX candidates_of_set ON candidates(edge_set, time_us);
CREATE INDEX candidates_rewrite ON candidates(job_output, rewrites, started_us) WHERE rewrites;
CREATE TABLE edge_sets(
  number INTEGER PRIMARY KEY, job_output INTEGER, digest BLOB, runs INTEGER NOT NULL DEFAULT 0,
  first_us INTEGER, last_us INTEGER, live INTEGER NOT NULL DEFAULT 0, latest INTEGER NOT NULL DEFAULT 0,
  reading INTEGER NOT NULL DEFAULT 0, explained BLOB, accounted BLOB,
  asks INTEGER NOT NULL DEFAULT 0, generation INTEGER NOT NULL DEFAULT 0, UNIQUE(job_output, digest));
CREATE TABLE edges(edge_set INTEGER PRIMARY KEY, value BLOB NOT NULL, inputs INTEGER, read_set INTEGER);
CREATE INDEX edges_of_reads ON edges(read_set);
CREATE INDEX edges_of_inputs ON edges(inputs) WHERE inputs IS NOT NULL;
CREATE TABLE input_lists(id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB UNIQUE, value BLOB NOT NULL);
CREATE TABLE read_sets(id INTEGER PRIMARY KEY, digest BLOB UNIQUE);
CREATE INDEX edge_sets_changed ON edge_sets(generation);
CREATE INDEX edge_sets_explainable ON edge_sets(job_output) WHERE asks;
CREATE TABLE rewrites(
  output INTEGER PRIMARY KEY, started_us INTEGER, ended_us INTEGER, whole_started_us INTEGER, whole_ended_us INTEGER,
  generation INTEGER NOT NULL DEFAULT 0);
CREATE INDEX rewrites_changed ON rewrites(generation);
CREATE TABLE commit_proofs(name INTEGER, is_whole INTEGER, run_id TEXT, PRIMARY KEY(name, is_whole, run_id))
  WITHOUT ROWID;
CREATE TABLE removed_events(id INTEGER PRIMARY KEY, before_us INTEGER NOT NULL);
CREATE TABLE newest_event(id INTEGER PRIMARY KEY, time_us INTEGER NOT NULL);
CREATE INDEX edge_sets_unreported ON edge_sets(generation) WHERE runs = 0;
CREATE TABLE reads(name INTEGER, read_set INTEGER, PRIMARY KEY(name, read_set)) WITHOUT ROWID;
CREATE TABLE uses(name INTEGER, job_key INTEGER, PRIMARY KEY(name, job_key)) WITHOUT ROWID;
CREATE TABLE schema_mentions(
  name INTEGER, credible INTEGER, time_us INTEGER, rank INTEGER, event_id TEXT, place INTEGER, schema TEXT,
  authority INTEGER, PRIMARY KEY(name, credible, time_us, rank, event_id, place, schema, authority)) WITHOUT ROWID;
CREATE TABLE complete_schema_mentions(name INTEGER PRIMARY KEY);
CREATE TABLE schema_sources(name INTEGER PRIMARY KEY);
CREATE TABLE partitioned_names(name INTEGER PRIMARY KEY);
CREATE TABLE bindings(
  id INTEGER PRIMARY KEY, alias INTEGER, time_us INTEGER, location INTEGER, UNIQUE(alias, time_us, location));
CREATE TABLE dataset_changes(
  id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT, time_us INTEGER, location INTEGER, renamed INTEGER, written INTEGER);
CREATE INDEX dataset_changes_of_run ON dataset_changes(run, written);
CREATE TABLE tags(
  name INTEGER, producer TEXT, credible INTEGER, time_us INTEGER, rank INTEGER, event_id TEXT, place INTEGER,
  value BLOB, PRIMARY KEY(name, producer, credible, time_us, rank, event_id, place)) WITHOUT ROWID;
CREATE TABLE datasets(
  name INTEGER PRIMARY KEY, schema TEXT, nests INTEGER NOT NULL DEFAULT 0, shown_schema TEXT,
  dropped INTEGER NOT NULL DEFAULT 0, spellings TEXT,
  generation INTEGER NOT NULL DEFAULT 0);
CREATE INDEX datasets_changed ON datasets(generation);
CREATE TABLE search_entries(
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name INTEGER NOT NULL, part TEXT NOT NULL, owner TEXT NOT NULL,
  text TEXT NOT NULL, parent TEXT NOT NULL, last TEXT NOT NULL, UNIQUE(name, kind, owner, part, text));
CREATE INDEX search_entries_last ON search_entries(kind, last);
CREATE TABLE search_words(kind TEXT, word TEXT, thing INTEGER, PRIMARY KEY(kind, word, thing)) WITHOUT ROWID;
CREATE TABLE vocabulary(id INTEGER PRIMARY KEY, word TEXT UNIQUE);
CREATE TABLE search_weights(name INTEGER, kind TEXT, uses INTEGER NOT NULL, time_us INTEGER, PRIMARY KEY(name, kind))
  WITHOUT ROWID;
CREATE TABLE feed(
  id INTEGER PRIMARY KEY AUTOINCREMENT, generation INTEGER NOT NULL, kind TEXT NOT NULL, number INTEGER, value BLOB);
CREATE VIRTUAL TABLE trigrams USING fts5(text, content='', columnsize=0, tokenize='trigram');
"""

CATALOG = """
CREATE TABLE partitions(id INTEGER PRIMARY KEY, log TEXT, incarnation TEXT, part TEXT, UNIQUE(log, incarnation, part));
CREATE TABLE run_events(time_us INTEGER, place INTEGER, sequence INTEGER, PRIMARY KEY(time_us, place, sequence))
  WITHOUT ROWID;
CREATE TABLE quarters(quarter INTEGER, type TEXT, events INTEGER, PRIMARY KEY(quarter, type)) WITHOUT ROWID;
CREATE TABLE entities(
  kind INTEGER, name INTEGER, first_us INTEGER, last_us INTEGER, generation INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(kind, name)) WITHOUT ROWID;
CREATE INDEX entities_changed ON entities(generation);
CREATE INDEX entities_newest ON entities(kind, last_us);
CREATE INDEX entities_first ON entities(kind, first_us);
CREATE TABLE namespaces(name TEXT PRIMARY KEY, first_us INTEGER, last_us INTEGER) WITHOUT ROWID;
CREATE TABLE jobs(
  key INTEGER PRIMARY KEY, display_name INTEGER, newest INTEGER, state TEXT, parent INTEGER, parent_order TEXT,
  is_parent INTEGER NOT NULL DEFAULT 0);
CREATE INDEX jobs_display_name ON jobs(display_name);
CREATE INDEX jobs_state ON jobs(state);
CREATE TABLE nominal_times(run INTEGER PRIMARY KEY, event_order BLOB, start_us INTEGER, end_us INTEGER);
CREATE TABLE run_facets(run INTEGER PRIMARY KEY, job INTEGER, time_us INTEGER, value BLOB);
CREATE INDEX run_facets_of_job ON run_facets(job, time_us);
CREATE TABLE versions(
  kind INTEGER, name INTEGER, version BLOB, value BLOB, runs INTEGER, first_us INTEGER, last_us INTEGER, run TEXT,
  PRIMARY KEY(kind, name, version)) WITHOUT ROWID;
CREATE INDEX versions_newest ON versions(kind, name, last_us);
CREATE TABLE facet_texts(id INTEGER PRIMARY KEY, digest BLOB UNIQUE, value TEXT NOT NULL);
CREATE TABLE facet_sets(id INTEGER PRIMARY KEY, digest BLOB UNIQUE, schema TEXT, value BLOB NOT NULL);
CREATE TABLE facet_set_uses(
  kind INTEGER, name INTEGER, facet_set INTEGER, first_us INTEGER, last_us INTEGER, event_order TEXT,
  PRIMARY KEY(kind, name, facet_set)) WITHOUT ROWID;
CREATE INDEX facet_set_uses_newest ON facet_set_uses(kind, name, event_order);
CREATE TABLE newest_facets(
  kind INTEGER, name INTEGER, facet TEXT, event_order TEXT, value, PRIMARY KEY(kind, name, facet)) WITHOUT ROWID;
CREATE TABLE data_sources(name TEXT PRIMARY KEY, uri TEXT, first_us INTEGER, last_us INTEGER) WITHOUT ROWID;
CREATE TABLE assertions(id INTEGER PRIMARY KEY, test TEXT, tested_column TEXT, UNIQUE(test, tested_column));
CREATE TABLE assertion_results(
  name INTEGER, assertion INTEGER, run INTEGER, event_order BLOB, time_us INTEGER, success INTEGER, detail BLOB,
  PRIMARY KEY(name, assertion, run)) WITHOUT ROWID;
CREATE INDEX assertion_results_newest ON assertion_results(name, assertion, event_order);
CREATE INDEX assertion_results_failed ON assertion_results(name, assertion, time_us) WHERE NOT success;
CREATE INDEX assertion_results_of_run ON assertion_results(run) WHERE NOT success;
CREATE TABLE measures(
  name INTEGER, kind INTEGER, time_us INTEGER, run INTEGER, value BLOB, PRIMARY KEY(name, kind, run)) WITHOUT ROWID;
CREATE INDEX measures_of_time ON measures(name, kind, time_us);
CREATE TABLE tag_names(name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE changes(
  name INTEGER, mark TEXT, detail TEXT, event_order TEXT, time_us INTEGER, value TEXT,
  generation INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(name, mark, detail)) WITHOUT ROWID;
CREATE INDEX changes_made ON changes(generation);
"""

DELETED_JOB, DELETED_NAMESPACE = "JOB", "NAMESPACE"
"""Values of `detail` in table `changes` for the mark `deleted`, because a job and a dataset can have the same name."""

DATASET, JOB, COUNTED = 0, 1, 2
"""Values of `kind` in tables. Datasets are stored by their names as sent, and jobs by their keys.

In the facet tables, jobs are stored by their display names. Only these tables use COUNTED: the input facets of a
dataset, that is, what a run counted in a dataset that it read.
"""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the index for its only writer. A file that is missing, damaged or of another format is created anew.

    Raises LakeUnavailable if the file cannot be opened, WrongSetting if this SQLite has no full-text search.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        check_pages(path)
        mark_wal_pages(path)
        with close_on_error(_connect(path)) as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
                return connection
        connection.close()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise LakeUnavailable(f"Cannot open the index {path}: {explain_storage_error(error, 'data')}") from error
        log.warning("The index file %s is damaged (%s). It is rebuilt from the lake.", path.name, error)
    delete_index_files(path)
    try:
        with close_on_error(_connect(path)) as connection:
            connection.executescript(
                f"BEGIN;{SCHEMA}{CATALOG}PRAGMA application_id={rules_code_id()};PRAGMA user_version={FORMAT};COMMIT;"
            )
    except sqlite3.OperationalError as error:
        if not any(word in str(error) for word in ("fts5", "tokenizer")):
            raise
        raise WrongSetting(
            f"The SQLite {sqlite3.sqlite_version} of this Python cannot search ({error}). "
            "Use a Python with SQLite 3.34 or newer that has FTS5, such as those of python.org and Debian."
        ) from error
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the index read-only while its writer may be running. A file of older rules or an older format also works.

    Raises NotBuilt if there is no file that can be read, sqlite3.Error if the file is damaged.
    """
    try:
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=5, check_same_thread=False
        )
        with close_on_error(connection):
            if OLDEST <= connection.execute("PRAGMA user_version").fetchone()[0] <= FORMAT:
                if connection.execute("PRAGMA application_id").fetchone()[0] != rules_code_id():
                    create_current_views(connection, SCHEMA + CATALOG)
                return connection
        connection.close()
    except sqlite3.Error as error:
        if is_damage(error):
            raise
    raise NotBuilt


@contextmanager
def read_transaction(sql: sqlite3.Connection) -> Iterator[None]:
    """Open a read transaction, so that all queries inside see the same generation of the index.

    If the disk fails, SQLite itself ends the transaction.
    """
    sql.execute("BEGIN")
    try:
        yield
    finally:
        if sql.in_transaction:
            sql.execute("COMMIT")


def delete_index_files(path: Path) -> None:
    """Delete an index file, its `-wal` and `-shm` files and its page checksums."""
    for suffix in ("", "-wal", "-shm", SUFFIX):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def rules_code_id() -> int:
    """Return the hash of the rules' code as the integer that an index file stores as its application id."""
    return int(rule_code_hash()[:7], 16)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    with close_on_error(connection):
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=OFF")  # after a power cut, the index is rebuilt
        connection.execute("PRAGMA cache_size=-16384")
        connection.execute("PRAGMA journal_size_limit=4194304")  # shrinks the -wal file after a large batch
    return connection


def split_for_parameters(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split values into chunks that are small enough for the parameters of one statement."""
    return (values[at : at + _AT_ONCE] for at in range(0, len(values), _AT_ONCE))


def question_marks(values: Sequence[object]) -> str:
    """Return as many comma-separated question marks as there are values, for an SQL `IN` list."""
    return ",".join("?" * len(values))


def json_array(numbers: Iterable[int]) -> str:
    """Return numbers as a JSON array for one SQL parameter. `json_each` yields the numbers in this order."""
    return msgspec.json.encode(list(numbers)).decode()
