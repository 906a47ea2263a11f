/** Describes the tables that SQL queries may read. */
import { type SqlSchema, sqlTables } from "../../domain/sql/tables.ts";
import { ok } from "../../result.ts";
import { accountUseCase } from "../pipeline/use-case.ts";

export const getSqlSchema = accountUseCase({
  requires: (capabilities) => capabilities.sql.queries,
  run: async () => ok<SqlSchema>({ tables: sqlTables }),
});
