package io.headwater.transport;

import org.apache.hadoop.conf.Configuration;

/** The Spark application that runs the transport. */
interface Application {
  /** The Hadoop settings of the session, which contain its credentials. */
  Configuration configuration();

  /** Whether the Spark context is running; the platform's credentials may not be available before. */
  boolean isStarted();

  /** Whether the application is ending. Must not block, because the listener's thread calls it. */
  boolean isEnding();

  String id();

  String name();

  /** The namespace of the application's jobs, which distinguishes applications with the same name; null if not set. */
  String namespace();
}
