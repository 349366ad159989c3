package io.headwater.connector

/** What Spark 3.5 calls otherwise than 4.1. */
private[connector] object Sessions {

  /** The session that a command runs in. */
  type Session = org.apache.spark.sql.SparkSession
}
