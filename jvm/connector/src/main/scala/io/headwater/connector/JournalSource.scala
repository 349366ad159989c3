package io.headwater.connector

import io.openlineage.spark.shade.client.OpenLineage
import io.openlineage.spark.shade.client.utils.DatasetIdentifier
import io.openlineage.spark.shade.extension.v1.LineageRelationProvider
import org.apache.spark.sql.sources.{BaseRelation, CreatableRelationProvider, DataSourceRegister, RelationProvider}
import org.apache.spark.sql.{DataFrame, SQLContext, SaveMode}

/** The format `journal` for the data source API V1.
  *
  * The listener gets the dataset of a read from the relation, and the dataset of a write from this class and its options.
  */
class JournalSource extends RelationProvider with CreatableRelationProvider with DataSourceRegister with LineageRelationProvider {

  override def shortName(): String = "journal"

  override def createRelation(sqlContext: SQLContext, options: Map[String, String]): BaseRelation =
    JournalRelation.newest(Journal.of(options), sqlContext)

  override def createRelation(sqlContext: SQLContext, mode: SaveMode, options: Map[String, String], data: DataFrame): BaseRelation = {
    val journal = Journal.of(options)
    val hadoop = sqlContext.sparkContext.hadoopConfiguration
    val there = journal.version(hadoop)
    if (there > 0 && mode == SaveMode.ErrorIfExists) {
      throw new IllegalArgumentException(s"There is a journal at ${journal.folder}. Write with mode `append` or `overwrite`.")
    }
    if (there == 0 || mode != SaveMode.Ignore) {
      val number = options.get(JournalSource.Number).fold(journal.next(hadoop))(_.toLong)
      JournalRelation.write(journal, number, data, anew = mode == SaveMode.Overwrite)
    }
    JournalRelation.newest(journal, sqlContext)
  }

  override def getLineageDatasetIdentifier(
      event: String,
      openLineage: OpenLineage,
      sqlContext: Object,
      options: Object
  ): DatasetIdentifier = Journal.of(options.asInstanceOf[Map[String, String]]).identifier
}

private[connector] object JournalSource {

  /** The option for the version of a write that has already reported it. */
  val Number = "number"
}
