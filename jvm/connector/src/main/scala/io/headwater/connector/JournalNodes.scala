package io.headwater.connector

import java.util

import io.headwater.connector.columns.{ColumnLevelLineage, PlanColumns}
import io.openlineage.spark.shade.client.OpenLineage
import io.openlineage.spark.shade.client.OpenLineage.LifecycleStateChangeDatasetFacet.LifecycleStateChange
import io.openlineage.spark.shade.extension.v1._
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.execution.command.RunnableCommand
import org.apache.spark.sql.execution.datasources.{LogicalRelation, SaveIntoDataSourceCommand}
import org.apache.spark.sql.{Row, SaveMode, SparkSession}

/** A plan node that reads a version of a journal and reports its dataset and facets by name (identifier form).
  *
  * Listeners query this node only if it is the whole plan, as in `SELECT * FROM journal('folder')`. Below other nodes it becomes
  * a relation (`NodesAsRelations`), and listeners find its dataset through `LineageRelation`.
  */
final case class JournalScan(relation: JournalRelation, output: Seq[AttributeReference])
    extends LeafNode
    with MultiInstanceRelation
    with InputLineageNode {

  override def newInstance(): JournalScan = copy(output = output.map(_.newInstance()))

  override def computeStats(): Statistics = Statistics(sizeInBytes = relation.sizeInBytes)

  override def getInputs(event: String, openLineage: OpenLineage): util.List[InputDatasetWithFacets] = {
    val parts = relation.journal.parts(relation.sqlContext.sparkContext.hadoopConfiguration, relation.version).size
    val facets = JournalFacets.of(openLineage, relation.version, parts, relation.schema)
    val statistics = openLineage.newInputDatasetInputFacetsBuilder()
    util.Collections.singletonList(new InputDatasetWithIdentifier(relation.journal.identifier, facets, statistics))
  }
}

/** A plan node that refers to another Spark node for its dataset; the plan does not contain that node (delegate form). */
final case class JournalView(hidden: LogicalRelation) extends LeafNode with MultiInstanceRelation with InputLineageNode {
  override def output: Seq[AttributeReference] = hidden.output

  override def newInstance(): JournalView = copy(hidden.newInstance())

  override def computeStats(): Statistics = hidden.computeStats()

  override def getInputs(event: String, openLineage: OpenLineage): util.List[InputDatasetWithFacets] = {
    val facets = openLineage.newDatasetFacetsBuilder()
    val statistics = openLineage.newInputDatasetInputFacetsBuilder()
    util.Collections.singletonList(new InputDatasetWithDelegate(hidden, facets, statistics))
  }
}

/** A write to a journal that reports its dataset, version, lifecycle change and columns (identifier form).
  *
  * @param number the version that the write creates
  * @param parts the number of writes in the version that it extends or replaces
  */
final case class JournalWrite(save: SaveIntoDataSourceCommand, child: LogicalPlan, number: Long, parts: Int)
    extends RunnableCommand
    with UnaryLike[LogicalPlan]
    with OutputLineageNode {

  private def journal = Journal.of(save.options)

  override def run(session: SparkSession): Seq[Row] =
    save.copy(options = save.options + (JournalSource.Number -> number.toString)).run(session)

  override def getOutputs(event: String, openLineage: OpenLineage): util.List[OutputDatasetWithFacets] = {
    val all = if (save.mode == SaveMode.Overwrite) 1 else parts + 1
    val facets = JournalFacets.of(openLineage, number, all, child.schema)
    change.foreach(each => facets.lifecycleStateChange(JournalFacets.lifecycle(openLineage, each)))
    ColumnLevelLineage.facet(PlanColumns(child), PlanColumns, openLineage).ifPresent(facet => facets.columnLineage(facet))
    val statistics = openLineage.newOutputDatasetOutputFacetsBuilder()
    util.Collections.singletonList(new OutputDatasetWithIdentifier(journal.identifier, facets, statistics))
  }

  private def change: Option[LifecycleStateChange] =
    if (parts == 0) Some(LifecycleStateChange.CREATE)
    else if (save.mode == SaveMode.Overwrite) Some(LifecycleStateChange.OVERWRITE)
    else None

  override protected def withNewChildInternal(changed: LogicalPlan): JournalWrite = copy(child = changed)
}

/** A write that logs a message before it runs and refers to a Spark node for its dataset (delegate form). */
final case class AnnouncedWrite(save: SaveIntoDataSourceCommand, child: LogicalPlan)
    extends RunnableCommand
    with UnaryLike[LogicalPlan]
    with OutputLineageNode {

  override def run(session: SparkSession): Seq[Row] = {
    AnnouncedWrite.log.info("{} writes to {}", session.sparkContext.sparkUser, Journal.of(save.options).folder: Any)
    save.run(session)
  }

  override def getOutputs(event: String, openLineage: OpenLineage): util.List[OutputDatasetWithFacets] = {
    val facets = openLineage.newDatasetFacetsBuilder()
    val statistics = openLineage.newOutputDatasetOutputFacetsBuilder()
    val written = LogicalRelation(JournalRelation(Journal.of(save.options), 0, child.schema)(null))
    util.Collections.singletonList(new OutputDatasetWithDelegate(written, facets, statistics))
  }

  override protected def withNewChildInternal(changed: LogicalPlan): AnnouncedWrite = copy(child = changed)
}

private object AnnouncedWrite {
  private val log = org.slf4j.LoggerFactory.getLogger(classOf[AnnouncedWrite])
}
