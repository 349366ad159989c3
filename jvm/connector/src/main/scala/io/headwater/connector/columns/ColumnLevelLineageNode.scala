package io.headwater.connector.columns

import java.util

import io.openlineage.spark.shade.client.utils.DatasetIdentifier
import io.openlineage.spark.shade.extension.v1.OlExprId

/** A node of a plan that tells which of its columns come from which.
  *
  * OpenLineage's documentation has a trait of this name and shape; of its parts spark-extension-interfaces 1.37.0 holds `OlExprId`
  * alone, and listeners 1.27.0 and 1.53.0 ask for none. These take their place: `ColumnLevelLineage` makes the facet of them.
  */
trait ColumnLevelLineageNode {
  def columnLevelLineageInputs: util.List[DatasetFieldLineage]
  def columnLevelLineageOutputs: util.List[OutputDatasetField]
  def columnLevelLineageDependencies: util.List[ExpressionDependency]
}

/** A column at one of the ends. */
sealed trait DatasetFieldLineage

/** A column that is read, and the expression that carries it. */
final case class InputDatasetFieldWithIdentifier(dataset: DatasetIdentifier, field: String, exprId: OlExprId) extends DatasetFieldLineage

/** All columns of a node that is not ours; `Delegates` says which they are. */
final case class InputDatasetFieldFromDelegate(delegate: Object) extends DatasetFieldLineage

/** A column that is written, and the expression that it is made by. */
final case class OutputDatasetField(field: String, exprId: OlExprId) extends DatasetFieldLineage

/** That one expression is made of others. */
sealed trait ExpressionDependency {
  def outputExprId: OlExprId
}

/** The others are named. */
final case class ExpressionDependencyWithIdentifier(outputExprId: OlExprId, inputExprIds: util.List[OlExprId]) extends ExpressionDependency

/** The others are found in an expression of Spark's; `Delegates` says which, and what it does to them. */
final case class ExpressionDependencyWithDelegate(outputExprId: OlExprId, expression: Object) extends ExpressionDependency
