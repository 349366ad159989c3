package io.headwater.connector.columns

import java.util
import java.util.Optional

import scala.collection.JavaConverters._

import io.openlineage.spark.shade.client.OpenLineage
import io.openlineage.spark.shade.client.OpenLineage.{ColumnLineageDatasetFacet, InputField}
import io.openlineage.spark.shade.extension.v1.OlExprId

/** Resolves nodes and expressions of Spark. */
trait Delegates {
  def fields(node: Object): util.List[InputDatasetFieldWithIdentifier]
  def inputs(expression: Object): util.List[OlExprId]
  def transformation(expression: Object): Transformation
}

/** How an expression changes a value: an OpenLineage subtype of a direct transformation, and whether it masks the value. */
final case class Transformation(subtype: String, masking: Boolean) {

  /** Combine two consecutive transformations: the stronger subtype, masking if one of them masks. */
  def andThen(next: Transformation): Transformation = {
    val strongest = Seq(this, next).maxBy(each => Transformation.Strength.indexOf(each.subtype))
    Transformation(strongest.subtype, masking || next.masking)
  }
}

object Transformation {
  private val Strength = Seq("IDENTITY", "TRANSFORMATION", "AGGREGATION")
  val Identity: Transformation = Transformation("IDENTITY", masking = false)
}

/** Creates the facet `columnLineage` of a node that reports its columns. */
object ColumnLevelLineage {
  private type Origins = Map[InputDatasetFieldWithIdentifier, Set[Transformation]]

  /** Trace each written column to the read columns. Empty if no source is known; then the facet is not sent. */
  def facet(node: ColumnLevelLineageNode, delegates: Delegates, openLineage: OpenLineage): Optional[ColumnLineageDatasetFacet] = {
    val read = node.columnLevelLineageInputs.asScala.flatMap {
      case field: InputDatasetFieldWithIdentifier => Seq(field)
      case InputDatasetFieldFromDelegate(other) => delegates.fields(other).asScala
      case _: OutputDatasetField => Nil
    }
    val fields = read.groupBy(_.exprId).map { case (id, found) => id -> found.toSet }
    val made = node.columnLevelLineageDependencies.asScala.groupBy(_.outputExprId).map { case (id, found) => id -> found.toSeq }
    val written = node.columnLevelLineageOutputs.asScala.map { column =>
      column.field -> origins(column.exprId, fields, made, delegates, Set.empty)
    }
    if (written.forall(_._2.isEmpty)) Optional.empty() else Optional.of(facetOf(written.toSeq, openLineage))
  }

  private def origins(
      id: OlExprId,
      fields: Map[OlExprId, Set[InputDatasetFieldWithIdentifier]],
      made: Map[OlExprId, Seq[ExpressionDependency]],
      delegates: Delegates,
      passed: Set[OlExprId]
  ): Origins =
    if (passed(id)) Map.empty
    else {
      val own: Origins = fields.getOrElse(id, Set.empty).map(_ -> Set(Transformation.Identity)).toMap
      made.getOrElse(id, Nil).foldLeft(own) { (found, dependency) =>
        val (inputs, does) = dependency match {
          case ExpressionDependencyWithIdentifier(_, ids) => (ids.asScala, Transformation.Identity)
          case ExpressionDependencyWithDelegate(_, expression) =>
            (delegates.inputs(expression).asScala, delegates.transformation(expression))
        }
        inputs.foldLeft(found) { (all, input) =>
          val further = origins(input, fields, made, delegates, passed + id)
          further.foldLeft(all) { case (sum, (field, ways)) =>
            sum.updated(field, sum.getOrElse(field, Set.empty[Transformation]) ++ ways.map(_.andThen(does)))
          }
        }
      }
    }

  private def facetOf(written: Seq[(String, Origins)], openLineage: OpenLineage): ColumnLineageDatasetFacet = {
    val fields = openLineage.newColumnLineageDatasetFacetFieldsBuilder()
    written.foreach { case (column, found) =>
      val inputs = found.toSeq.sortBy { case (field, _) => (field.dataset.getNamespace, field.dataset.getName, field.field) }
      val entries = inputs.map { case (field, ways) => inputField(field, ways, openLineage) }
      fields.put(column, openLineage.newColumnLineageDatasetFacetFieldsAdditionalBuilder().inputFields(entries.asJava).build())
    }
    openLineage.newColumnLineageDatasetFacetBuilder().fields(fields.build()).build()
  }

  private def inputField(field: InputDatasetFieldWithIdentifier, ways: Set[Transformation], openLineage: OpenLineage): InputField = {
    val transformations = ways.toSeq.sortBy(way => (way.subtype, way.masking)).map { way =>
      openLineage
        .newInputFieldTransformationsBuilder()
        .`type`("DIRECT")
        .subtype(way.subtype)
        .description("")
        .masking(Boolean.box(way.masking))
        .build()
    }
    openLineage
      .newInputFieldBuilder()
      .namespace(field.dataset.getNamespace)
      .name(field.dataset.getName)
      .field(field.field)
      .transformations(transformations.asJava)
      .build()
  }
}
