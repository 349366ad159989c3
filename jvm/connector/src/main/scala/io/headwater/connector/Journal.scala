package io.headwater.connector

import java.nio.charset.StandardCharsets.UTF_8

import io.openlineage.spark.shade.client.utils.DatasetIdentifier
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.types.{DataType, StructType}

/** A folder of immutable, numbered folders with JSON lines. Each write adds a folder; version N consists of the folders up to N.
  *
  * The folder `00000003` adds rows to the previous version, and `00000003-new` replaces it. Numbers of failed writes stay unused.
  *
  * @param folder the Hadoop path of the journal
  */
final case class Journal(folder: String) {
  import Journal._

  private val uri = new Path(folder).toUri

  /** The name of the dataset in OpenLineage: the host (or `localhost`) and the path. */
  def identifier: DatasetIdentifier =
    new DatasetIdentifier(uri.getPath.stripPrefix("/").stripSuffix("/"), s"journal://${Option(uri.getHost).getOrElse("localhost")}")

  /** The newest version, or 0 if the journal has none. */
  def version(hadoop: Configuration): Long = written(hadoop).lastOption.fold(0L)(numberOf)

  /** The number of the next write, which no earlier write has used. */
  def next(hadoop: Configuration): Long = begun(hadoop).lastOption.fold(0L)(numberOf) + 1

  /** The folders that contain the rows of a version. */
  def parts(hadoop: Configuration, version: Long): Seq[String] = {
    val upTo = written(hadoop).filter(numberOf(_) <= version)
    upTo.drop(upTo.lastIndexWhere(_.endsWith(Anew)).max(0)).map(name => s"$folder/$name")
  }

  /** The folder of version N.
    *
    * @param anew whether the version replaces the previous one
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

  /** The journal that the options of a data source name. */
  def of(options: Map[String, String]): Journal =
    Journal(options.getOrElse("path", throw new IllegalArgumentException("A journal needs `path`: the address of its folder.")))
}
