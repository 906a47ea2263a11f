/** Google's GoogleSQL analyzer: the program of `Analyze.java` on the packages of `pom.xml`. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { SqlColumn } from "../../../../core/domain/sql/answer.ts";
import { googleSql } from "../../vitest/machine.ts";

/** Types of columns as GoogleSQL writes them, by table and column. */
export type Tables = Readonly<Record<string, Readonly<Record<string, string>>>>;

export type Analysis =
  | { readonly columns: readonly SqlColumn[]; readonly error?: undefined }
  | { readonly error: string };

/** Analyzes each statement against the tables. Returns the columns of its result, or the error of the analyzer. */
export const analyze = (tables: Tables, statements: readonly string[]): readonly Analysis[] => {
  const args = ["-cp", join(googleSql, "*"), join(import.meta.dirname, "Analyze.java")];
  const { status, stdout, stderr } = spawnSync("java", args, {
    input: JSON.stringify({ tables, statements }),
    encoding: "utf8",
    maxBuffer: 1e8,
    timeout: 110_000,
  });
  if (status !== 0) throw new Error(`the analyzer exited with ${status}: ${stderr}`);
  return JSON.parse(stdout);
};
