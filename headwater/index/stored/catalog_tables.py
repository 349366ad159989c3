"""The tables of the catalog: entities, their first and last times, versions, facets and changes made through the API.

Times are event times in microseconds, UTC. Each value is a union, a minimum or a maximum over the events. It therefore
does not depend on the order of events or on repeated events.
"""

CATALOG = """
CREATE TABLE places(id INTEGER PRIMARY KEY, log TEXT, incarnation TEXT, part TEXT, UNIQUE(log, incarnation, part));
CREATE TABLE happened(time_us INTEGER, place INTEGER, sequence INTEGER, PRIMARY KEY(time_us, place, sequence))
  WITHOUT ROWID;
CREATE TABLE quarters(quarter INTEGER, type TEXT, events INTEGER, PRIMARY KEY(quarter, type)) WITHOUT ROWID;
CREATE TABLE entities(
  kind INTEGER, name INTEGER, first_us INTEGER, last_us INTEGER, generation INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(kind, name)) WITHOUT ROWID;
CREATE INDEX entities_touched ON entities(generation);
CREATE INDEX entities_newest ON entities(kind, last_us);
CREATE INDEX entities_first ON entities(kind, first_us);
CREATE TABLE namespaces(name TEXT PRIMARY KEY, first_us INTEGER, last_us INTEGER) WITHOUT ROWID;
CREATE TABLE jobs(
  key INTEGER PRIMARY KEY, shown INTEGER, newest INTEGER, state TEXT, parent INTEGER, parent_order TEXT,
  named INTEGER NOT NULL DEFAULT 0);
CREATE INDEX jobs_shown ON jobs(shown);
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
CREATE TABLE described(
  kind INTEGER, name INTEGER, facet_set INTEGER, first_us INTEGER, last_us INTEGER, event_order TEXT,
  PRIMARY KEY(kind, name, facet_set)) WITHOUT ROWID;
CREATE INDEX described_newest ON described(kind, name, event_order);
CREATE TABLE newest_facets(
  kind INTEGER, name INTEGER, facet TEXT, event_order TEXT, value, PRIMARY KEY(kind, name, facet)) WITHOUT ROWID;
CREATE TABLE data_sources(name TEXT PRIMARY KEY, uri TEXT, first_us INTEGER, last_us INTEGER) WITHOUT ROWID;
CREATE TABLE tag_names(name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE changes(
  name INTEGER, mark TEXT, detail TEXT, event_order TEXT, time_us INTEGER, value TEXT,
  generation INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(name, mark, detail)) WITHOUT ROWID;
CREATE INDEX changes_made ON changes(generation);
"""

DELETED_JOB, DELETED_NAMESPACE = "JOB", "NAMESPACE"
"""Values of `detail` for the mark `deleted`. They are needed because a dataset can have the name of a job."""

DATASET, JOB, COUNTED = 0, 1, 2
"""Kinds of entities. Datasets have their names as sent, jobs their keys; in facet tables, jobs have display names.

The facet tables also use COUNTED: input facets, that is, what a run counted in a dataset that it read.
"""
