import io.openlineage.client.Clients;
import io.openlineage.client.OpenLineage;
import io.openlineage.client.OpenLineage.ColumnLineageDatasetFacetFieldsAdditional;
import io.openlineage.client.OpenLineage.RunEvent.EventType;
import io.openlineage.client.OpenLineageClient;
import java.net.URI;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.UUID;

/** One run of a job, told by OpenLineage's Java client: which columns of orders become which of revenue. */
public class ShopRun {
  private static final String NAMESPACE = "postgres://shop.example:5432";
  private static final OpenLineage OL = new OpenLineage(URI.create("https://example.org/shop"));

  public static void main(String[] arguments) throws Exception {
    UUID run = UUID.fromString(arguments[0]);
    try (OpenLineageClient client = Clients.newClient()) {
      client.emit(event(EventType.START, run));
      client.emit(event(EventType.COMPLETE, run));
    }
  }

  private static OpenLineage.RunEvent event(EventType type, UUID run) {
    return OL.newRunEventBuilder()
        .eventType(type)
        .eventTime(ZonedDateTime.now(ZoneOffset.UTC))
        .run(OL.newRunBuilder().runId(run).build())
        .job(OL.newJobBuilder().namespace("java").name("sum_up").build())
        .inputs(List.of(OL.newInputDatasetBuilder().namespace(NAMESPACE).name("java.orders").build()))
        .outputs(List.of(output()))
        .build();
  }

  private static OpenLineage.OutputDataset output() {
    var lineage =
        OL.newColumnLineageDatasetFacetBuilder()
            .fields(
                OL.newColumnLineageDatasetFacetFieldsBuilder()
                    .put("customer", from("customer", "DIRECT", "IDENTITY", false))
                    .put("email_hash", from("email", "DIRECT", "TRANSFORMATION", true))
                    .put("total", from("amount", "DIRECT", "AGGREGATION", false))
                    .build())
            .build();
    var facets = OL.newDatasetFacetsBuilder().columnLineage(lineage).build();
    return OL.newOutputDatasetBuilder().namespace(NAMESPACE).name("java.revenue").facets(facets).build();
  }

  private static ColumnLineageDatasetFacetFieldsAdditional from(
      String field, String type, String subtype, boolean masking) {
    var how =
        OL.newInputFieldTransformationsBuilder().type(type).subtype(subtype).masking(masking).build();
    var input =
        OL.newInputFieldBuilder()
            .namespace(NAMESPACE)
            .name("java.orders")
            .field(field)
            .transformations(List.of(how))
            .build();
    return OL.newColumnLineageDatasetFacetFieldsAdditionalBuilder().inputFields(List.of(input)).build();
  }
}
