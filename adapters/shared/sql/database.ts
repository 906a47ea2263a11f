/**
 * The derived database that SQL statements query. It contains log entries and billing rows. Its engine cannot access
 * other files or the network. The database may be deleted at any time, because it can be rebuilt.
 */
import { rmSync } from "node:fs";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { RESOURCE_TYPE } from "../../../core/domain/logs/filter/record.ts";
import { createMacros } from "./tables/macros.ts";

/** The schema version. A database with a different version is rebuilt. */
const SCHEMA = 1;

const create = `
  CREATE TABLE meta(schema INTEGER);
  INSERT INTO meta VALUES (${SCHEMA});
  CREATE TABLE entries(service VARCHAR NOT NULL, ns BIGINT NOT NULL, ord BIGINT NOT NULL, severity VARCHAR, log VARCHAR,
    revision VARCHAR, instance VARCHAR, text VARCHAR, json JSON, http JSON);
  CREATE TABLE charges(usage_start_time TIMESTAMPTZ, usage_end_time TIMESTAMPTZ, service VARCHAR, sku VARCHAR,
    amount DECIMAL(38,9), unit VARCHAR, cost DECIMAL(38,9), currency VARCHAR, resource VARCHAR);
`;

const views = `
  CREATE OR REPLACE VIEW logs AS SELECT
    make_timestamp(ns // 1000) AT TIME ZONE 'UTC' AS timestamp, severity, log AS log_name,
    strftime(make_timestamp_ns(ns), '%Y-%m-%dT%H:%M:%S.%n') || '-' || lpad(CAST(ord AS VARCHAR), 10, '0') AS insert_id,
    {'type': '${RESOURCE_TYPE}', 'labels': json_object(
      'service_name', service, 'revision_name', revision, 'instance_id', instance)} AS resource,
    json AS json_payload, text AS text_payload, http AS http_request
  FROM entries;
  CREATE OR REPLACE VIEW billing AS SELECT usage_start_time, usage_end_time, {'description': service} AS service,
    {'description': sku} AS sku, {'amount': amount, 'unit': unit} AS usage, cost, currency, {'name': resource} AS resource
  FROM charges;
`;

const settings = {
  threads: "2",
  memory_limit: "384MB",
  max_temp_directory_size: "2GB",
  enable_external_access: "false",
  autoinstall_known_extensions: "false",
  autoload_known_extensions: "false",
  allow_community_extensions: "false",
  default_null_order: "nulls_first_on_asc_last_on_desc",
  preserve_insertion_order: "false",
} as const;

const prepare = async (connection: DuckDBConnection): Promise<void> => {
  const known = await connection.runAndReadAll("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'meta'");
  if (known.getRows()[0]?.[0] === 0n) await connection.run(create);
  const made = await connection.runAndReadAll("SELECT schema FROM meta");
  if (made.getRows()[0]?.[0] !== SCHEMA) throw new Error("the database has a different schema version");
  await connection.run(views);
  for (const macro of createMacros) await connection.run(macro);
  await connection.run("SET TimeZone = 'UTC'");
  await connection.run("SET lock_configuration = true");
};

const open = async (path: string): Promise<DuckDBConnection> => {
  const instance = await DuckDBInstance.create(path, settings);
  try {
    const connection = await instance.connect();
    await prepare(connection);
    return connection;
  } catch (error) {
    instance.closeSync();
    throw error;
  }
};

export const removeDatabase = (path: string): void => {
  for (const ending of ["", ".wal", ".tmp"]) rmSync(path + ending, { recursive: true, force: true });
};

/**
 * Opens the database at a path, or a database in memory if `path` is undefined. Rebuilds a database that is damaged or
 * has a different schema version.
 */
export const openDatabase = async (path: string | undefined): Promise<DuckDBConnection> => {
  if (path === undefined) return open(":memory:");
  try {
    return await open(path);
  } catch {
    removeDatabase(path);
    return open(path);
  }
};
