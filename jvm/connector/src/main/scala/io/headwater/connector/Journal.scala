package io.headwater.connector

import java.nio.charset.StandardCharsets.UTF_8

import io.openlineage.spark.shade.client.utils.DatasetIdentifier
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.types.{DataType, StructType}

/** A folder to which each write adds one numbered folder of JSON lines, and changes none: version N is all up to number N.
  *
  * `00000003` continues what was before, `00000003-new` replaces it. The number of a write that failed is not given again.
  *
  * @param folder an address of Hadoop's
  */
final case class Journal(folder: String) {
  import Journal._

  private val uri = new Path(folder).toUri

  /** What OpenLineage calls it: its host (or `localhost`), and its path. */
  def identifier: DatasetIdentifier =
    new DatasetIdentifier(uri.getPath.stripPrefix("/").stripSuffix("/"), s"journal://${Option(uri.getHost).getOrElse("localhost")}")

  /** The newest version; 0 where nothing was written. */
  def version(hadoop: Configuration): Long = written(hadoop).lastOption.fold(0L)(numberOf)

  /** The number of the next write: no write has begun with it. */
  def next(hadoop: Configuration): Long = begun(hadoop).lastOption.fold(0L)(numberOf) + 1

  /** The folders whose lines are a version. */
  def parts(hadoop: Configuration, version: Long): Seq[String] = {
    val upTo = written(hadoop).filter(numberOf(_) <= version)
    upTo.drop(upTo.lastIndexWhere(_.endsWith(Anew)).max(0)).map(name => s"$folder/$name")
  }

  /** Where version N is written.
    *
    * @param anew whether it replaces what was before
    */
  def place(version: Long, anew: Boolean): String = f"$folder/$version%08d${if (anew) Anew else ""}"

  /** The columns of the newest version. */
  def schema(hadoop: Configuration): StructType = {
    val file = new Path(folder, Schema)
    val fs = file.getFileSystem(hadoop)
    if (!fs.exists(file)) {
      throw new IllegalArgumentException(s"There is no journal at $folder: $Schema is not there. Write to it first, or mend `path`.")
    }
    val in = fs.open(file)
    try DataType.fromJson(new String(in.readAllBytes(), UTF_8)).asInstanceOf[StructType]
    finally in.close()
  }

  def keepSchema(hadoop: Configuration, schema: StructType): Unit = {
    val file = new Path(folder, Schema)
    val out = file.getFileSystem(hadoop).create(file, true)
    try out.write(schema.json.getBytes(UTF_8))
    finally out.close()
  }

  private def written(hadoop: Configuration): Seq[String] = {
    val fs = new Path(folder).getFileSystem(hadoop)
    begun(hadoop).filter(name => fs.exists(new Path(s"$folder/$name/_SUCCESS")))
  }

  private def begun(hadoop: Configuration): Seq[String] = {
    val path = new Path(folder)
    val fs = path.getFileSystem(hadoop)
    if (!fs.exists(path)) Nil
    else fs.listStatus(path).toSeq.map(_.getPath.getName).filter(_.matches(Number)).sorted
  }
}

object Journal {
  private val Schema = "_schema.json"
  private val Anew = "-new"
  private val Number = s"\\d{8}($Anew)?"

  private def numberOf(name: String): Long = name.take(8).toLong

  /** The journal that a source's options name. */
  def of(options: Map[String, String]): Journal =
    Journal(options.getOrElse("path", throw new IllegalArgumentException("A journal needs `path`: the address of its folder.")))
}
