"""100 migration statements in five dialects, and the effect of each on one table by the dialect's documentation.

The outcomes are what the database does, whether or not `plan` can follow the statement. `sales.orders` has the columns
id, amount, note, status, address (a struct with city and zip) and city. Outcomes: `drop X`, `rename X Y`, `retype X`,
`drop table`, `rename table`, nothing, and `unknown` if the statement alone does not determine the effect.
"""

COLUMNS: dict[str, str | None] = {
    "id": "int",
    "amount": "int",
    "note": "string",
    "status": "string",
    "address": "struct<city:string,zip:string>",
    "address.city": "string",
    "address.zip": "string",
    "city": "string",
}

SPARK: tuple[tuple[str, str], ...] = (
    ("ALTER TABLE sales.orders DROP COLUMN IF EXISTS note", "drop note"),
    ("ALTER TABLE sales.orders DROP COLUMNS (note, address.zip)", "drop address.zip, drop note"),
    ("ALTER TABLE sales.orders REPLACE COLUMNS (id INT, amount INT, note STRING, "
     "address STRUCT<city: STRING, zip: STRING>, city STRING)", "drop status"),
    ("ALTER TABLE sales.orders CHANGE COLUMN note COMMENT 'free text'", ""),
    ("ALTER TABLE sales.orders ALTER COLUMN amount AFTER note", ""),
    ("ALTER TABLE sales.orders CHANGE amount amount DECIMAL(20, 2)", "retype amount"),
    ("ALTER TABLE sales.orders RENAME COLUMN address.city TO town", "rename address.city address.town"),
    ("ALTER TABLE sales.orders SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name'); "
     "ALTER TABLE sales.orders RENAME COLUMN note TO remark", "rename note remark"),
    ("ALTER TABLE sales.orders RENAME TO sales.purchases", "rename table"),
    ("CREATE OR REPLACE TABLE sales.orders (id BIGINT, amount INT, note STRING, status STRING, city STRING) "
     "USING delta", "drop address, retype id"),
    ("DROP VIEW sales.orders", "drop table"),
    ("RESTORE TABLE sales.orders TO VERSION AS OF 3", "unknown"),
    ("ALTER TABLE sales.orders ALTER COLUMN note SET TAGS ('pii' = 'yes')", ""),
    ("CREATE OR REPLACE TEMPORARY VIEW recent AS SELECT * FROM sales.orders", ""),
    ("CREATE TABLE IF NOT EXISTS sales.orders (id INT)", ""),
    ("INSERT OVERWRITE TABLE sales.orders SELECT * FROM staging.orders", ""),
    ("DROP SCHEMA IF EXISTS sales CASCADE", "drop table"),
    ("EXECUTE IMMEDIATE 'ALTER TABLE sales.orders DROP COLUMN note'", "drop note"),
    ("REORG TABLE sales.orders APPLY (PURGE)", ""),
    ("ALTER TABLE sales.orders RECOVER PARTITIONS", ""),
)  # fmt: skip

TSQL: tuple[tuple[str, str], ...] = (
    ("IF EXISTS (SELECT * FROM sys.columns WHERE object_id = OBJECT_ID(N'sales.orders') AND name = 'note') "
     "BEGIN ALTER TABLE sales.orders DROP COLUMN note; END", "drop note"),
    ("IF COL_LENGTH('sales.orders', 'note') IS NOT NULL ALTER TABLE sales.orders DROP COLUMN note;", "drop note"),
    ("IF OBJECT_ID('sales.orders', 'U') IS NOT NULL DROP TABLE sales.orders;", "drop table"),
    ("IF @@ROWCOUNT > 0 PRINT 'rows' ELSE ALTER TABLE sales.orders DROP COLUMN note", "drop note"),
    ("BEGIN TRY BEGIN TRANSACTION; ALTER TABLE sales.orders DROP COLUMN note; COMMIT; END TRY "
     "BEGIN CATCH ROLLBACK; THROW; END CATCH", "drop note"),
    ("EXEC sp_rename 'sales.orders.note', 'remark', 'COLUMN';", "rename note remark"),
    ("EXECUTE sys.sp_rename @objname = N'[sales].[orders].[note]', @newname = N'remark', @objtype = N'COLUMN'",
     "rename note remark"),
    ("EXEC sp_rename 'sales.orders', 'purchases'", "rename table"),
    ("EXEC sp_rename N'sales.orders.ix_note', N'ix_remark', N'INDEX'", ""),
    ("EXEC('ALTER TABLE sales.orders DROP COLUMN note')", "drop note"),
    ("DECLARE @sql NVARCHAR(MAX) = N'ALTER TABLE sales.orders DROP COLUMN note'; EXEC sp_executesql @sql",
     "drop note"),
    ("ALTER TABLE [sales].[orders] DROP CONSTRAINT [df_note], COLUMN [note]", "drop note"),
    ("ALTER TABLE sales.orders ALTER COLUMN amount BIGINT NOT NULL", "retype amount"),
    ("ALTER TABLE sales.orders WITH NOCHECK ADD CONSTRAINT ck CHECK (amount > 0)", ""),
    ("ALTER SCHEMA archive TRANSFER sales.orders", "rename table"),
    ("ALTER TABLE sales.orders ADD discount DECIMAL(9, 2) NULL, region NVARCHAR(10) NULL", ""),
    ("ALTER TABLE sales.orders ALTER COLUMN note ADD MASKED WITH (FUNCTION = 'default()')", ""),
    ("CREATE OR ALTER VIEW sales.orders AS SELECT id, amount, note, address, city FROM base.orders", "drop status"),
    ("WHILE (SELECT COUNT(*) FROM sales.queue) > 0 BEGIN ALTER TABLE sales.orders DROP COLUMN note END", "drop note"),
    ("ALTER TABLE sales.orders DROP COLUMN note\nGO\nPRINT 'done'\nGO", "drop note"),
)  # fmt: skip

POSTGRES: tuple[tuple[str, str], ...] = (
    ("ALTER TABLE IF EXISTS ONLY sales.orders DROP COLUMN IF EXISTS note CASCADE", "drop note"),
    ("ALTER TABLE sales.orders DROP COLUMN note, ADD COLUMN remark text, ALTER COLUMN amount TYPE numeric(20, 2)",
     "drop note, retype amount"),
    ("DO $$ BEGIN IF EXISTS (SELECT 1 FROM information_schema.columns WHERE column_name = 'note') THEN "
     "ALTER TABLE sales.orders DROP COLUMN note; END IF; END $$", "drop note"),
    ("ALTER VIEW sales.orders RENAME COLUMN note TO remark", "rename note remark"),
    ("ALTER VIEW sales.orders RENAME TO purchases", "rename table"),
    ("ALTER TABLE sales.orders RENAME CONSTRAINT orders_pkey TO pk_orders", ""),
    ("ALTER TABLE sales.orders SET SCHEMA archive", "rename table"),
    ("ALTER SCHEMA sales RENAME TO old_sales", "rename table"),
    ("DROP OWNED BY migrator", "unknown"),
    ("DROP EXTENSION hstore CASCADE", "unknown"),
    ("DROP FUNCTION sales.net(int) CASCADE", "unknown"),
    ('ALTER TABLE "sales"."orders" ALTER COLUMN "amount" TYPE bigint USING "amount"::bigint', "retype amount"),
    ("DROP TABLE IF EXISTS sales.orders CASCADE", "drop table"),
    ("ALTER TABLE sales.orders ALTER COLUMN note SET STORAGE EXTERNAL", ""),
    ("ALTER TABLE sales.orders OWNER TO app", ""),
    ("CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON sales.orders USING gin (note)", ""),
    ("ALTER TABLE sales.orders ENABLE ROW LEVEL SECURITY", ""),
    ("WITH gone AS (DELETE FROM sales.orders RETURNING *) INSERT INTO archive.orders SELECT * FROM gone", ""),
    ("CALL sales.migrate_orders()", "unknown"),
    ("ALTR TABLE sales.orders DROP COLUMN note", "unknown"),
)  # fmt: skip

SNOWFLAKE: tuple[tuple[str, str], ...] = (
    ("ALTER TABLE sales.orders DROP note", "drop note"),
    ("ALTER TABLE IF EXISTS sales.orders DROP COLUMN IF EXISTS note, status", "drop note, drop status"),
    ("ALTER TABLE sales.orders RENAME COLUMN note TO remark", "rename note remark"),
    ("ALTER TABLE sales.orders RENAME TO archive.orders", "rename table"),
    ("ALTER TABLE sales.orders ALTER amount SET DATA TYPE NUMBER(38, 2), COLUMN note DROP NOT NULL",
     "retype amount"),
    ("ALTER TABLE sales.orders MODIFY (COLUMN amount TYPE NUMBER(38, 2), note COMMENT 'free text')",
     "retype amount"),
    ("ALTER TABLE sales.orders SWAP WITH sales.orders_new", "unknown"),
    ("CREATE OR REPLACE TABLE sales.orders CLONE sales.orders_backup", "unknown"),
    ("CREATE OR REPLACE TABLE sales.orders LIKE staging.orders", "unknown"),
    ("CREATE OR REPLACE VIEW sales.orders COPY GRANTS AS SELECT id, amount, note, status, address FROM raw.orders",
     "drop city"),
    ("DROP SCHEMA sales RESTRICT", "drop table"),
    ("DROP DATABASE IF EXISTS shop CASCADE", "drop table"),
    ("ALTER SCHEMA sales RENAME TO sales_old", "rename table"),
    ("EXECUTE IMMEDIATE $$ BEGIN ALTER TABLE sales.orders DROP COLUMN note; END; $$", "drop note"),
    ("BEGIN ALTER TABLE sales.orders DROP COLUMN note; EXCEPTION WHEN OTHER THEN RETURN 'failed'; END", "drop note"),
    ("ALTER TABLE sales.orders MODIFY COLUMN note SET MASKING POLICY hide", ""),
    ("ALTER TABLE sales.orders ADD SEARCH OPTIMIZATION", ""),
    ("CREATE OR REPLACE DYNAMIC TABLE sales.orders TARGET_LAG = '1 minute' WAREHOUSE = wh AS "
     "SELECT id, amount, note, status, address FROM raw.orders", "drop city"),
    ("ALTER ICEBERG TABLE sales.orders DROP COLUMN note", "drop note"),
    ("ALTER TABLE sales.orders SET DATA_RETENTION_TIME_IN_DAYS = 1", ""),
)  # fmt: skip

DUCKDB: tuple[tuple[str, str], ...] = (
    ("ALTER TABLE sales.orders DROP note", "drop note"),
    ("ALTER TABLE IF EXISTS sales.orders DROP COLUMN IF EXISTS note CASCADE", "drop note"),
    ("ALTER TABLE sales.orders RENAME COLUMN note TO remark", "rename note remark"),
    ("ALTER TABLE sales.orders RENAME note TO remark", "rename note remark"),
    ("ALTER TABLE sales.orders ALTER amount SET DATA TYPE BIGINT", "retype amount"),
    ("ALTER TABLE sales.orders ALTER note TYPE INTEGER USING length(note)", "retype note"),
    ("ALTER TABLE sales.orders DROP COLUMN address.zip", "drop address.zip"),
    ("ALTER TABLE sales.orders RENAME COLUMN address.zip TO postcode", "rename address.zip address.postcode"),
    ("ALTER TABLE sales.orders ADD COLUMN address.country VARCHAR", ""),
    ("ALTER VIEW sales.orders RENAME TO purchases", "rename table"),
    ("CREATE OR REPLACE VIEW sales.orders AS FROM staging.orders", "unknown"),
    ("CREATE OR REPLACE TABLE sales.orders AS SELECT * EXCLUDE (note) FROM sales.orders", "drop note"),
    ("CREATE OR REPLACE TABLE sales.orders AS SELECT id, amount, note, status, address, city FROM 'o.parquet'", ""),
    ("DROP SCHEMA sales CASCADE", "drop table"),
    ("COPY sales.orders TO 'orders.parquet' (FORMAT parquet)", ""),
    ("COPY FROM DATABASE a TO b", "unknown"),
    ("IMPORT DATABASE 'dump'", "unknown"),
    ("CREATE MACRO net(x) AS x / 1.19", ""),
    ("ALTER TABLE sales.orders ALTER COLUMN note SET NOT NULL", ""),
    ("CHECKPOINT", ""),
)  # fmt: skip

TRUTH: tuple[tuple[str, str, str], ...] = tuple(
    (dialect, sql, outcome)
    for dialect, statements in (
        ("spark", SPARK),
        ("tsql", TSQL),
        ("postgres", POSTGRES),
        ("snowflake", SNOWFLAKE),
        ("duckdb", DUCKDB),
    )
    for sql, outcome in statements
)
"""Dialect, statement, outcome."""
