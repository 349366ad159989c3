import java.net.URI;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Tests that exactly one of several concurrent writers can commit a version of a Delta log with OneLakeOnDisk. */
class RenameRace {
  static final int VERSIONS = 200;
  static final int WRITERS = 4;

  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration(false);
    conf.set("fs.abfss.impl", "headwater.demo.OneLakeOnDisk");
    conf.set("headwater.demo.root", arguments[0]);
    FileSystem lake = FileSystem.get(URI.create("abfss://Race@onelake.dfs.fabric.microsoft.com/"), conf);
    Path log = new Path("/Shop.Lakehouse/Tables/t/_delta_log");
    lake.mkdirs(log);
    var pool = Executors.newFixedThreadPool(WRITERS);
    var barrier = new CyclicBarrier(WRITERS);
    var writers = new java.util.ArrayList<Callable<Integer>>();
    for (int writer = 0; writer < WRITERS; writer++) {
      int number = writer;
      writers.add(() -> commitAll(lake, log, number, barrier));
    }
    int won = 0;
    for (var result : pool.invokeAll(writers)) {
      won += result.get();
    }
    pool.shutdown();
    var status = lake.listStatus(log);
    System.out.println(won + " " + status.length + " " + status[0].getPath().getParent());
  }

  static int commitAll(FileSystem lake, Path log, int writer, CyclicBarrier barrier) throws Exception {
    int won = 0;
    for (int version = 0; version < VERSIONS; version++) {
      Path temporary = new Path(log, "." + version + "." + writer + ".tmp");
      try (var out = lake.create(temporary, false)) {
        out.writeInt(writer);
      }
      barrier.await();
      if (lake.rename(temporary, new Path(log, version + ".json"))) {
        won++;
      } else {
        lake.delete(temporary, false);
      }
    }
    return won;
  }
}
