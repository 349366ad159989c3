/*
 * Copyright 2018-2023 contributors to the Marquez project
 * SPDX-License-Identifier: Apache-2.0
 *
 * Changed: events are posted, not written into a database.
 */

package marquez.db;

import com.google.common.collect.ImmutableMap;
import headwater.Server;
import java.net.URI;
import java.time.Instant;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import marquez.common.Utils;
import marquez.service.models.LineageEvent;
import marquez.service.models.LineageEvent.Dataset;
import marquez.service.models.LineageEvent.DatasetFacets;
import marquez.service.models.LineageEvent.DatasourceDatasetFacet;
import marquez.service.models.LineageEvent.DocumentationDatasetFacet;
import marquez.service.models.LineageEvent.Job;
import marquez.service.models.LineageEvent.JobFacet;
import marquez.service.models.LineageEvent.NominalTimeRunFacet;
import marquez.service.models.LineageEvent.Run;
import marquez.service.models.LineageEvent.RunFacet;
import marquez.service.models.LineageEvent.SchemaDatasetFacet;
import marquez.service.models.LineageEvent.SchemaField;

public final class LineageTestUtils {
  public static final ZoneId LOCAL_ZONE = ZoneId.of("America/Los_Angeles");
  public static final ImmutableMap<String, Object> EMPTY_MAP = ImmutableMap.of();
  public static final URI PRODUCER_URL = URI.create("http://test.producer/");
  public static final URI SCHEMA_URL = URI.create("http://test.schema/");
  public static final String NAMESPACE = "namespace";

  public static void createLineageRow(
      OpenLineageDao dao,
      String jobName,
      String status,
      JobFacet jobFacet,
      List<Dataset> inputs,
      List<Dataset> outputs) {
    NominalTimeRunFacet nominalTime = new NominalTimeRunFacet();
    nominalTime.setNominalStartTime(
        Instant.now().atZone(LOCAL_ZONE).truncatedTo(ChronoUnit.HOURS));
    nominalTime.setNominalEndTime(nominalTime.getNominalStartTime().plus(1, ChronoUnit.HOURS));
    LineageEvent event =
        LineageEvent.builder()
            .eventType(status)
            .eventTime(Instant.now().atZone(LOCAL_ZONE))
            .run(
                new Run(
                    UUID.randomUUID().toString(),
                    new RunFacet(nominalTime, null, ImmutableMap.of())))
            .job(new Job(NAMESPACE, jobName, jobFacet))
            .inputs(inputs)
            .outputs(outputs)
            .producer(PRODUCER_URL.toString())
            .build();
    Server.send(Utils.toJson(event));
  }

  public static DatasetFacets newDatasetFacet(SchemaField... fields) {
    return newDatasetFacet(EMPTY_MAP, fields);
  }

  public static DatasetFacets newDatasetFacet(Map<String, Object> facets, SchemaField... fields) {
    return DatasetFacets.builder()
        .documentation(
            new DocumentationDatasetFacet(PRODUCER_URL, SCHEMA_URL, "the dataset documentation"))
        .schema(new SchemaDatasetFacet(PRODUCER_URL, SCHEMA_URL, Arrays.asList(fields)))
        .dataSource(
            new DatasourceDatasetFacet(
                PRODUCER_URL, SCHEMA_URL, "the source", "http://thesource.com"))
        .additional(facets)
        .build();
  }
}
