package io.headwater.connector

import io.openlineage.spark.shade.client.OpenLineage
import io.openlineage.spark.shade.client.utils.DatasetIdentifier
import io.openlineage.spark.shade.extension.v1.LineageRelation
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.sources.{BaseRelation, InsertableRelation, TableScan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Row, SQLContext}

/** A version of a journal, read by Spark's first interface for sources; the listener asks it which dataset it is. */
final case class JournalRelation(journal: Journal, version: Long, schema: StructType)(@transient val sqlContext: SQLContext)
    extends BaseRelation
    with TableScan
    with InsertableRelation
    with LineageRelation {

  override def getLineageDatasetIdentifier(event: String, openLineage: OpenLineage): DatasetIdentifier = journal.identifier

  /** Rows stay as Spark has them within: `Dataset.rdd` is a query of its own in Spark 4, which listeners report as a job. */
  override val needConversion: Boolean = false

  override def buildScan(): RDD[Row] = {
    val parts = journal.parts(sqlContext.sparkContext.hadoopConfiguration, version)
    sqlContext.sparkSession.read.schema(schema).json(parts: _*).queryExecution.toRdd.asInstanceOf[RDD[Row]]
  }

  override def insert(data: DataFrame, overwrite: Boolean): Unit =
    JournalRelation.write(journal, journal.next(sqlContext.sparkContext.hadoopConfiguration), data, overwrite)
}

object JournalRelation {

  /** Write a version. Of two writers that have one number one fails, as its folder is there. */
  def write(journal: Journal, number: Long, data: DataFrame, anew: Boolean): Unit = {
    data.toJSON.rdd.saveAsTextFile(journal.place(number, anew))
    journal.keepSchema(data.sparkSession.sqlContext.sparkContext.hadoopConfiguration, data.schema)
  }

  /** The newest version of a journal. */
  def newest(journal: Journal, sqlContext: SQLContext): JournalRelation = {
    val hadoop = sqlContext.sparkContext.hadoopConfiguration
    JournalRelation(journal, journal.version(hadoop), journal.schema(hadoop))(sqlContext)
  }
}
