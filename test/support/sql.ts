/** Statements for tests of SQL. */
import { exampleTime, type SqlFunction } from "../../core/domain/sql/functions.ts";

/** A statement that answers a function's example, as `v`. */
export const exampleStatement = ({ example }: SqlFunction): string =>
  `SELECT ${example.replaceAll(/(?<![\w'])T(?![\w'])/g, exampleTime)} AS v`;
