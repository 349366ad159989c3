package io.headwater.spark;

import java.io.IOException;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The Delta table in the settings, written with the Spark session. */
final class DeltaLineageTable implements LineageTable {
  private static final StructType SCHEMA =
      new StructType()
          .add("id", DataTypes.StringType)
          .add("application_id", DataTypes.StringType)
          .add("application_name", DataTypes.StringType)
          .add("executor_id", DataTypes.StringType)
          .add("method", DataTypes.StringType)
          .add("path", DataTypes.StringType)
          .add("headers", DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType))
          .add("received_at", DataTypes.TimestampType)
          .add("body", DataTypes.BinaryType)
          .add("dt", DataTypes.DateType);
  private static final String DESCRIPTION = "spark.job.description";

  private final PluginSettings settings;
  private final SparkContext context;
  private volatile String location;

  DeltaLineageTable(PluginSettings settings, SparkContext context) {
    this.settings = settings;
    this.context = context;
    location = settings.isPath() ? settings.table : null;
  }

  /** Uses the batch ID as a Delta transaction ID, so that a repeated append does not write the batch twice. */
  @Override
  public void append(Batch batch) throws IOException {
    List<Row> rows = rows(batch.bodies());
    if (rows.isEmpty()) {
      return;
    }
    SparkSession session = session();
    String before = context.getLocalProperty(DESCRIPTION);
    SparkSession.setActiveSession(session); // gives this thread the settings and the catalog of the session
    context.setLocalProperty(DESCRIPTION, "Headwater: " + rows.size() + " lineage bodies to " + settings.table);
    try {
      look(session);
      DataFrameWriter<Row> writer =
          session
              .createDataFrame(rows, SCHEMA)
              .coalesce(1)
              .write()
              .format("delta")
              .mode("append")
              .partitionBy("dt")
              .option("txnAppId", "headwater-plugin/" + batch.id())
              .option("txnVersion", "1")
              .option("delta.setTransactionRetentionDuration", "interval 90 days") // applies to a new table
              .option("delta.enableDeletionVectors", "false");
      if (settings.isPath()) {
        writer.save(settings.table);
      } else {
        writer.saveAsTable(settings.table);
        look(session);
      }
    } catch (Exception error) { // Scala does not declare Delta's checked exceptions
      throw new IOException(settings.table + " cannot be written: " + onOneLine(error), error);
    } finally {
      context.setLocalProperty(DESCRIPTION, before);
      SparkSession.clearActiveSession();
    }
  }

  @Override
  public String name() {
    return settings.table;
  }

  @Override
  public String location() {
    return location;
  }

  private SparkSession session() throws IOException {
    if (context.isStopped()) {
      throw new IOException("the Spark context is stopped");
    }
    return SparkSession.getDefaultSession().isDefined()
        ? SparkSession.getDefaultSession().get()
        : SparkSession.builder().getOrCreate();
  }

  private void look(SparkSession session) {
    if (location == null && session.catalog().tableExists(settings.table)) {
      List<Row> said =
          session.sql("DESCRIBE TABLE EXTENDED " + settings.table).where("col_name = 'Location'").collectAsList();
      location = said.isEmpty() ? null : said.get(0).getString(1);
    }
  }

  private static List<Row> rows(List<Body> bodies) {
    List<Row> rows = new ArrayList<>(bodies.size());
    for (Body body : bodies) {
      rows.add(
          RowFactory.create(
              body.id, body.application.id(), body.application.name(), body.executor, body.method, body.path, body.headers,
              body.receivedAt, body.bytes, body.receivedAt.atOffset(ZoneOffset.UTC).toLocalDate()));
    }
    return rows;
  }

  private static String onOneLine(Throwable error) {
    return error.toString().replaceAll("\\s+", " ");
  }
}
