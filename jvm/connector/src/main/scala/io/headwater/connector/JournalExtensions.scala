package io.headwater.connector

import org.apache.spark.sql.{SaveMode, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{LogicalRelation, SaveIntoDataSourceCommand}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/** The class for `spark.sql.extensions`. It adds functions that read a version (`journal('folder', 2)`) or read through a view
  * (`journal_view('folder')`), and replaces writes with the option `node` (`columns` or `announced`) by plan nodes.
  */
class JournalExtensions extends (SparkSessionExtensions => Unit) {
  import JournalExtensions._

  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectTableFunction((FunctionIdentifier("journal"), info("journal"), scan))
    extensions.injectTableFunction((FunctionIdentifier("journal_view"), info("journal_view"), view))
    extensions.injectResolutionRule(_ => WritesAsNodes)
    extensions.injectOptimizerRule(_ => NodesAsRelations)
    extensions.injectPlannerStrategy(_ => WholePlans)
  }
}

private object JournalExtensions {
  private def info(name: String) = new ExpressionInfo(classOf[JournalExtensions].getName, name)

  private def scan(arguments: Seq[Expression]): LogicalPlan = {
    val newest = relation(arguments)
    val version = arguments.lift(1).fold(newest.version)(_.eval().toString.toLong)
    val read = newest.copy(version = version)(newest.sqlContext)
    JournalScan(read, LogicalRelation(read).output)
  }

  private def view(arguments: Seq[Expression]): LogicalPlan = JournalView(LogicalRelation(relation(arguments)))

  private def relation(arguments: Seq[Expression]): JournalRelation = {
    val folder = arguments.headOption.getOrElse(throw new IllegalArgumentException("Give the folder of a journal, in quotes."))
    JournalRelation.newest(Journal(folder.eval().toString), SparkSession.active.sqlContext)
  }
}

private object WritesAsNodes extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case save @ SaveIntoDataSourceCommand(query, _: JournalSource, options, _) =>
      options.get("node") match {
        case Some("columns") =>
          val hadoop = SparkSession.active.sparkContext.hadoopConfiguration
          val journal = Journal.of(options)
          JournalWrite(save, query, journal.next(hadoop), journal.parts(hadoop, journal.version(hadoop)).size)
        case Some("announced") => AnnouncedWrite(save, query)
        case Some(other) => throw new IllegalArgumentException(s"Option `node` is `$other`. Known: columns, announced.")
        case None => save
      }
    case other => other
  }
}

/** Replaces nested nodes by relations, because a listener only finds the datasets of nested relations. */
private object NodesAsRelations extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case whole @ (_: JournalScan | _: JournalView) => whole
    case other => other.transform { case node if relation.isDefinedAt(node) => relation(node) }
  }

  val relation: PartialFunction[LogicalPlan, LogicalPlan] = {
    case JournalScan(read, output) => LogicalRelation(read).copy(output = output)
    case JournalView(hidden) => hidden
  }
}

private object WholePlans extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = NodesAsRelations.relation.lift(plan).map(planLater).toSeq
}
