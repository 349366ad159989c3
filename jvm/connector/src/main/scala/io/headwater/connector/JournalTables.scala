package io.headwater.connector

import java.util

import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, SupportsWrite, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder, V1Scan}
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, V1Write, Write, WriteBuilder}
import org.apache.spark.sql.sources.{BaseRelation, DataSourceRegister, InsertableRelation, TableScan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{DataFrame, SQLContext}

/** The format `journal-table`: journals with the data source API V2. */
class JournalTables extends TableProvider with DataSourceRegister {

  override def shortName(): String = "journal-table"

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    journal(options).schema(JournalTables.hadoop)

  override def getTable(schema: StructType, partitioning: Array[Transform], properties: util.Map[String, String]): Table =
    new JournalTable(Journal.of(new CaseInsensitiveStringMap(properties).asScala.toMap), schema)

  private def journal(options: CaseInsensitiveStringMap) = Journal.of(options.asScala.toMap)
}

/** A journal that reports its dataset and facets to the listener in its table properties. */
class JournalTable(journal: Journal, columns: StructType) extends SupportsRead with SupportsWrite {
  private val newest = journal.version(JournalTables.hadoop)

  override def name(): String = journal.folder

  @deprecated("of Spark's interface", "Spark 3.4")
  override def schema(): StructType = columns

  override def properties(): util.Map[String, String] = Map(
    "openlineage.dataset.name" -> journal.identifier.getName,
    "openlineage.dataset.namespace" -> journal.identifier.getNamespace,
    s"openlineage.dataset.facets.${JournalFacets.Name}" -> s"""{"parts": ${journal.parts(JournalTables.hadoop, newest).size}}""",
    "openlineage.dataset.facets.version" -> s"""{"datasetVersion": "$newest"}"""
  ).asJava

  override def capabilities(): util.Set[TableCapability] =
    Set(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.V1_BATCH_WRITE).asJava

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new ScanBuilder {
    override def build(): Scan = new V1Scan {
      override def readSchema(): StructType = columns
      override def toV1TableScan[T <: BaseRelation with TableScan](context: SQLContext): T =
        JournalRelation(journal, newest, columns)(context).asInstanceOf[T]
    }
  }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder {
    override def build(): Write = new V1Write {
      override def toInsertableRelation: InsertableRelation = new InsertableRelation {
        override def insert(data: DataFrame, overwrite: Boolean): Unit =
          JournalRelation(journal, newest, columns)(data.sparkSession.sqlContext).insert(data, overwrite)
      }
    }
  }
}

private object JournalTables {
  def hadoop = SparkSession.active.sparkContext.hadoopConfiguration
}
