package io.headwater.connector.columns

import java.util

import scala.collection.JavaConverters._

import io.headwater.connector.{JournalRelation, JournalScan, JournalView}
import io.openlineage.spark.shade.extension.v1.OlExprId
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Union}
import org.apache.spark.sql.execution.datasources.LogicalRelation

/** The output columns of a Spark plan and the journal columns that they depend on. */
final case class PlanColumns(plan: LogicalPlan) extends ColumnLevelLineageNode {
  import PlanColumns.id

  override def columnLevelLineageInputs: util.List[DatasetFieldLineage] =
    plan.collectLeaves().map(InputDatasetFieldFromDelegate(_): DatasetFieldLineage).asJava

  override def columnLevelLineageOutputs: util.List[OutputDatasetField] =
    plan.output.map(column => OutputDatasetField(column.name, id(column.exprId))).asJava

  override def columnLevelLineageDependencies: util.List[ExpressionDependency] = {
    val named = plan.collect { case node => node.expressions }.flatten.collect {
      case alias: Alias => ExpressionDependencyWithDelegate(id(alias.exprId), alias.child): ExpressionDependency
    }
    val united = plan.collect { case union: Union =>
      union.output.zipWithIndex.map { case (column, place) =>
        val inputs = union.children.map(each => id(each.output(place).exprId)).filter(_ != id(column.exprId))
        ExpressionDependencyWithIdentifier(id(column.exprId), inputs.asJava): ExpressionDependency
      }
    }
    (named ++ united.flatten).asJava
  }
}

/** Resolves Spark's nodes and expressions. */
object PlanColumns extends Delegates {

  override def fields(node: Object): util.List[InputDatasetFieldWithIdentifier] = (node match {
    case scan: JournalScan => of(scan.relation, scan.output)
    case JournalView(hidden) => fields(hidden).asScala.toSeq
    case relation: LogicalRelation =>
      relation.relation match {
        case journal: JournalRelation => of(journal, relation.output)
        case _ => Nil
      }
    case _ => Nil
  }).asJava

  override def inputs(expression: Object): util.List[OlExprId] = expression match {
    case one: Expression => one.references.map(each => id(each.exprId)).toSeq.asJava
    case _ => util.Collections.emptyList()
  }

  override def transformation(expression: Object): Transformation = expression match {
    case _: AttributeReference => Transformation.Identity
    case one: Expression =>
      val aggregates = one.exists(_.isInstanceOf[AggregateExpression])
      Transformation(if (aggregates) "AGGREGATION" else "TRANSFORMATION", masking = one.exists(masks))
    case _ => Transformation("TRANSFORMATION", masking = false)
  }

  private def of(relation: JournalRelation, output: Seq[Attribute]): Seq[InputDatasetFieldWithIdentifier] =
    output.map(column => InputDatasetFieldWithIdentifier(relation.journal.identifier, column.name, id(column.exprId)))

  private def masks(expression: Expression): Boolean = expression match {
    case _: Sha1 | _: Sha2 | _: Md5 | _: Crc32 | _: Murmur3Hash | _: XxHash64 => true
    case _ => false
  }

  private def id(expression: ExprId): OlExprId = new OlExprId(expression.id)
}
