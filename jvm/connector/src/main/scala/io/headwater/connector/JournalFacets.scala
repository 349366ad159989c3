package io.headwater.connector

import io.openlineage.spark.shade.client.OpenLineage
import io.openlineage.spark.shade.client.OpenLineage.LifecycleStateChangeDatasetFacet.LifecycleStateChange
import io.openlineage.spark.shade.client.OpenLineage.{DatasetFacetsBuilder, LifecycleStateChangeDatasetFacet}
import org.apache.spark.sql.types.StructType

/** The facets that the connector's plan nodes add to their datasets. */
private[connector] object JournalFacets {

  /** The name of the connector's own facet, which contains the number of writes in a version. */
  val Name = "headwater_journal"

  def of(openLineage: OpenLineage, version: Long, parts: Int, schema: StructType): DatasetFacetsBuilder = {
    val own = openLineage.newDatasetFacet()
    own.getAdditionalProperties.put("parts", Int.box(parts))
    val fields = schema.fields.map { field =>
      openLineage.newSchemaDatasetFacetFieldsBuilder().name(field.name).`type`(field.dataType.typeName).build()
    }
    openLineage
      .newDatasetFacetsBuilder()
      .version(openLineage.newDatasetVersionDatasetFacet(version.toString))
      .schema(openLineage.newSchemaDatasetFacet(java.util.Arrays.asList(fields: _*)))
      .put(Name, own)
  }

  def lifecycle(openLineage: OpenLineage, change: LifecycleStateChange): LifecycleStateChangeDatasetFacet =
    openLineage.newLifecycleStateChangeDatasetFacet(change, null)
}
