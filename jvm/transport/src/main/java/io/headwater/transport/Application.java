package io.headwater.transport;

import org.apache.hadoop.conf.Configuration;

/** The Spark application around the transport. */
interface Application {
  /** The session's Hadoop settings, which bring its credentials. */
  Configuration configuration();

  /** Whether its context is up; the credentials of a platform may not be in reach before. */
  boolean isStarted();

  /** Whether it is about to end: the events of now are its last. Never waits: the listener's thread asks. */
  boolean isEnding();

  String id();

  String name();

  /** The namespace of its jobs, which tells teams with applications of one name apart; null where none is set. */
  String namespace();
}
