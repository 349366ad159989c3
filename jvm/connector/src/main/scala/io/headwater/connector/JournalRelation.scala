package io.headwater.connector

import io.openlineage.spark.shade.client.OpenLineage
import io.openlineage.spark.shade.client.utils.DatasetIdentifier
import io.openlineage.spark.shade.extension.v1.LineageRelation
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.sources.{BaseRelation, InsertableRelation, TableScan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Row, SQLContext}

/** A version of a journal for the data source API V1. The listener gets the dataset from this relation. */
final case class JournalRelation(journal: Journal, version: Long, schema: StructType)(@transient val sqlContext: SQLContext)
    extends BaseRelation
    with TableScan
    with InsertableRelation
    with LineageRelation {

  override def getLineageDatasetIdentifier(event: String, openLineage: OpenLineage): DatasetIdentifier = journal.identifier

  /** Keeps Spark's internal rows: in Spark 4, `Dataset.rdd` is a separate query, which listeners would report as a job. */
  override val needConversion: Boolean = false

  override def buildScan(): RDD[Row] = {
    val parts = journal.parts(sqlContext.sparkContext.hadoopConfiguration, version)
    sqlContext.sparkSession.read.schema(schema).json(parts: _*).queryExecution.toRdd.asInstanceOf[RDD[Row]]
  }

  override def insert(data: DataFrame, overwrite: Boolean): Unit =
    JournalRelation.write(journal, journal.next(sqlContext.sparkContext.hadoopConfiguration), data, overwrite)
}

object JournalRelation {

  /** Write a version. If two writers use the same number, one fails, because the folder exists. */
  def write(journal: Journal, number: Long, data: DataFrame, anew: Boolean): Unit = {
    data.toJSON.rdd.saveAsTextFile(journal.place(number, anew))
    journal.keepSchema(data.sparkSession.sqlContext.sparkContext.hadoopConfiguration, data.schema)
  }

  /** Return the newest version of a journal. */
  def newest(journal: Journal, sqlContext: SQLContext): JournalRelation = {
    val hadoop = sqlContext.sparkContext.hadoopConfiguration
    JournalRelation(journal, journal.version(hadoop), journal.schema(hadoop))(sqlContext)
  }
}
