package io.headwater.connector

/** What Spark 4.1 calls otherwise than 3.5. */
private[connector] object Sessions {

  /** The session that a command runs in. */
  type Session = org.apache.spark.sql.classic.SparkSession
}
