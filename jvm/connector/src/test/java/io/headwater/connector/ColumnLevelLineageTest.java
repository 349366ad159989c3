package io.headwater.connector;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.headwater.connector.columns.ColumnLevelLineage;
import io.headwater.connector.columns.ColumnLevelLineageNode;
import io.headwater.connector.columns.DatasetFieldLineage;
import io.headwater.connector.columns.Delegates;
import io.headwater.connector.columns.ExpressionDependency;
import io.headwater.connector.columns.ExpressionDependencyWithDelegate;
import io.headwater.connector.columns.ExpressionDependencyWithIdentifier;
import io.headwater.connector.columns.InputDatasetFieldFromDelegate;
import io.headwater.connector.columns.InputDatasetFieldWithIdentifier;
import io.headwater.connector.columns.OutputDatasetField;
import io.headwater.connector.columns.Transformation;
import io.openlineage.spark.shade.client.OpenLineage;
import io.openlineage.spark.shade.client.OpenLineage.ColumnLineageDatasetFacet;
import io.openlineage.spark.shade.client.utils.DatasetIdentifier;
import io.openlineage.spark.shade.extension.v1.OlExprId;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class ColumnLevelLineageTest {
    private static final DatasetIdentifier ORDERS = new DatasetIdentifier("orders", "journal://shop");

    @Test
    void aColumnIsFollowedThroughNamedAndForeignExpressionsToWhatIsRead() {
        Node node = new Node();
        node.inputs = List.of(read("amount", 1), new InputDatasetFieldFromDelegate("a table"));
        node.outputs = List.of(new OutputDatasetField("total", id(9)), new OutputDatasetField("key", id(2)));
        node.dependencies = List.of(
                new ExpressionDependencyWithDelegate(id(9), "sum of 5"),
                new ExpressionDependencyWithIdentifier(id(5), List.of(id(1), id(2))));
        assertEquals(
                List.of("total <- amount AGGREGATION", "total <- key AGGREGATION", "key <- key IDENTITY"), edges(node));
    }

    @Test
    void whatIsMaskedOnItsWayStaysSoAndBothWaysAreTold() {
        Node node = new Node();
        node.inputs = List.of(read("email", 1));
        node.outputs = List.of(new OutputDatasetField("both", id(4)));
        node.dependencies = List.of(
                new ExpressionDependencyWithDelegate(id(3), "hash of 1"),
                new ExpressionDependencyWithIdentifier(id(4), List.of(id(3), id(1))));
        assertEquals(List.of("both <- email IDENTITY TRANSFORMATION*"), edges(node));
    }

    @Test
    void aCircleEndsAndWhereNothingIsKnownThereIsNoFacet() {
        Node node = new Node();
        node.inputs = List.of(read("email", 1));
        node.outputs = List.of(new OutputDatasetField("other", id(4)));
        node.dependencies = List.of(
                new ExpressionDependencyWithIdentifier(id(4), List.of(id(5))),
                new ExpressionDependencyWithIdentifier(id(5), List.of(id(4))));
        assertTrue(facet(node).isEmpty());
    }

    private static InputDatasetFieldWithIdentifier read(String field, long expression) {
        return new InputDatasetFieldWithIdentifier(ORDERS, field, id(expression));
    }

    private static OlExprId id(long number) {
        return new OlExprId(number);
    }

    private static Optional<ColumnLineageDatasetFacet> facet(Node node) {
        return ColumnLevelLineage.facet(node, new Known(), new OpenLineage(URI.create("https://headwater.test")));
    }

    private static List<String> edges(Node node) {
        return facet(node).orElseThrow().getFields().getAdditionalProperties().entrySet().stream()
                .flatMap(column -> column.getValue().getInputFields().stream()
                        .map(input -> column.getKey() + " <- " + input.getField() + input.getTransformations().stream()
                                .map(way -> " " + way.getSubtype() + (way.getMasking() ? "*" : ""))
                                .collect(Collectors.joining())))
                .collect(Collectors.toList());
    }

    private static final class Node implements ColumnLevelLineageNode {
        private List<DatasetFieldLineage> inputs;
        private List<OutputDatasetField> outputs;
        private List<ExpressionDependency> dependencies;

        @Override
        public List<DatasetFieldLineage> columnLevelLineageInputs() {
            return inputs;
        }

        @Override
        public List<OutputDatasetField> columnLevelLineageOutputs() {
            return outputs;
        }

        @Override
        public List<ExpressionDependency> columnLevelLineageDependencies() {
            return dependencies;
        }
    }

    /** In these tests, an expression is a text with a word and the numbers of the expressions that it depends on. */
    private static final class Known implements Delegates {
        @Override
        public List<InputDatasetFieldWithIdentifier> fields(Object node) {
            return List.of(read("key", 2));
        }

        @Override
        public List<OlExprId> inputs(Object expression) {
            String text = (String) expression;
            return List.of(id(Long.parseLong(text.substring(text.lastIndexOf(' ') + 1))));
        }

        @Override
        public Transformation transformation(Object expression) {
            boolean sums = ((String) expression).startsWith("sum");
            return new Transformation(sums ? "AGGREGATION" : "TRANSFORMATION", !sums);
        }
    }
}
