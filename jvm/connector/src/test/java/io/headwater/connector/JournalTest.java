package io.headwater.connector;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.collection.JavaConverters;

class JournalTest {
    private final Configuration hadoop = new Configuration();

    @TempDir Path folder;

    @Test
    void aVersionIsAllUpToItAndNothingBeforeItWasReplaced() throws IOException {
        Journal journal = new Journal(folder.toString());
        assertEquals(0, journal.version(hadoop));
        assertEquals(1, journal.next(hadoop));
        for (String part : List.of("00000001", "00000002", "00000003-new", "00000004")) {
            Files.createDirectories(folder.resolve(part));
            Files.createFile(folder.resolve(part).resolve("_SUCCESS"));
        }
        Files.createDirectories(folder.resolve("00000005"));

        assertEquals(4, journal.version(hadoop), "a write that did not end is no version");
        assertEquals(6, journal.next(hadoop), "nor is its number given again");
        assertEquals(List.of("00000001", "00000002"), parts(journal, 2));
        assertEquals(List.of("00000003-new", "00000004"), parts(journal, 4));
        assertEquals(folder + "/00000005", journal.place(5, false));
        assertEquals(folder + "/00000005-new", journal.place(5, true));
    }

    @Test
    void whereNothingIsItSaysWhatToDo() {
        Journal journal = new Journal(folder.toString());
        String said = assertThrows(IllegalArgumentException.class, () -> journal.schema(hadoop)).getMessage();
        assertEquals("There is no journal at " + folder + ": _schema.json is not there. Write to it first, or mend `path`.", said);
    }

    @Test
    void itsNameIsItsHostAndItsPath() {
        assertEquals("journal://localhost", new Journal("/lake/orders").identifier().getNamespace());
        assertEquals("lake/orders", new Journal("/lake/orders").identifier().getName());
        assertEquals("journal://bucket", new Journal("s3a://bucket/lake/orders/").identifier().getNamespace());
        assertEquals("lake/orders", new Journal("s3a://bucket/lake/orders/").identifier().getName());
    }

    private List<String> parts(Journal journal, long version) {
        List<String> all = JavaConverters.seqAsJavaList(journal.parts(hadoop, version));
        return all.stream().map(part -> part.substring(folder.toString().length() + 1)).collect(java.util.stream.Collectors.toList());
    }
}
