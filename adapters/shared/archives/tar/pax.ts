/**
 * Parses the records of a pax header. Each has the form `LENGTH KEY=VALUE\n`. A value may contain any byte, so only the
 * length determines its end.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_94_13_03
 */
import { isUtf8 } from "node:buffer";
import { NOT_UTF8 } from "./header.ts";

export interface PaxRecords {
  readonly path?: string;
  readonly size?: number;
  readonly flaw?: string;
}

const SPACE = 0x20;
const LINE_END = 0x0a;
const MALFORMED: PaxRecords = { flaw: "has a malformed pax header" };
const WHOLE = /^[0-9]+$/;

/**
 * Returns the fields that a record sets for its entry. Most records, such as times, are irrelevant here and set no
 * fields.
 */
const meaningOf = (key: string, value: Buffer): PaxRecords => {
  if (key.startsWith("GNU.sparse.") || key === "SCHILY.realsize") return { flaw: "is a sparse file" };
  if (key === "linkpath") return { flaw: "has a link target but is not a link" };
  if (key === "size") {
    const digits = value.toString("latin1");
    return WHOLE.test(digits) ? { size: Number(digits) } : { flaw: "has a size that is not a number" };
  }
  if (key !== "path") return {};
  if (value.length === 0) return { flaw: "has no path" };
  return isUtf8(value) ? { path: value.toString("utf8") } : { path: value.toString("utf8"), flaw: NOT_UTF8 };
};

export const readPax = (bytes: Buffer): PaxRecords => {
  let records: PaxRecords = {};
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(SPACE, at);
    const digits = bytes.toString("latin1", at, space === -1 ? at : Math.min(space, at + 20));
    const end = at + Number(digits);
    const equals = bytes.indexOf("=", space + 1);
    const isWhole = WHOLE.test(digits) && end <= bytes.length && bytes[end - 1] === LINE_END;
    if (!isWhole || equals <= space + 1 || equals >= end) return { ...records, ...MALFORMED };
    const found = meaningOf(bytes.toString("utf8", space + 1, equals), bytes.subarray(equals + 1, end - 1));
    const isRepeated = (found.path ?? records.path) !== (records.path ?? found.path);
    const flaw = records.flaw ?? found.flaw ?? (isRepeated ? "has two paths" : undefined);
    records = { ...records, ...found, ...(flaw === undefined ? {} : { flaw }) };
    at = end;
  }
  return records;
};
