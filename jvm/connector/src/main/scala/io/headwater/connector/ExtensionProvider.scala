package io.headwater.connector

import io.openlineage.spark.extension.OpenLineageExtensionProvider
import io.openlineage.spark.shade.extension.v1.lifecycle.plan.SparkOpenLineageExtensionVisitor

/** Tells OpenLineage's listener, through Java's service loader, which class handles the connector's nodes and relations. */
class ExtensionProvider extends OpenLineageExtensionProvider {

  override def shadedPackage(): String = "io.openlineage.spark.shade"

  override def getVisitorClassName: String = classOf[SparkOpenLineageExtensionVisitor].getName
}
