package io.headwater.connector.columns

import java.util

import io.openlineage.spark.shade.client.utils.DatasetIdentifier
import io.openlineage.spark.shade.extension.v1.OlExprId

/** A plan node that reports its column-level lineage.
  *
  * OpenLineage's documentation describes a trait with this name and shape, but spark-extension-interfaces 1.37.0 contains only
  * `OlExprId`, and listeners 1.27.0 and 1.53.0 do not use it. This file replaces it, and `ColumnLevelLineage` creates the facet.
  */
trait ColumnLevelLineageNode {
  def columnLevelLineageInputs: util.List[DatasetFieldLineage]
  def columnLevelLineageOutputs: util.List[OutputDatasetField]
  def columnLevelLineageDependencies: util.List[ExpressionDependency]
}

/** An input or output column of a node. */
sealed trait DatasetFieldLineage

/** A column that the node reads, with the ID of the expression that contains it. */
final case class InputDatasetFieldWithIdentifier(dataset: DatasetIdentifier, field: String, exprId: OlExprId) extends DatasetFieldLineage

/** All columns of a Spark node; `Delegates` resolves them. */
final case class InputDatasetFieldFromDelegate(delegate: Object) extends DatasetFieldLineage

/** A column that the node writes, with the ID of the expression that computes it. */
final case class OutputDatasetField(field: String, exprId: OlExprId) extends DatasetFieldLineage

/** Describes which expressions an expression depends on. */
sealed trait ExpressionDependency {
  def outputExprId: OlExprId
}

/** A dependency on expressions with known IDs. */
final case class ExpressionDependencyWithIdentifier(outputExprId: OlExprId, inputExprIds: util.List[OlExprId]) extends ExpressionDependency

/** A dependency on a Spark expression; `Delegates` resolves its inputs and its transformation. */
final case class ExpressionDependencyWithDelegate(outputExprId: OlExprId, expression: Object) extends ExpressionDependency
