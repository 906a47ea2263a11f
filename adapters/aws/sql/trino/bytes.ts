/** Converts byte literals to function calls, because the translation loses Trino's hexadecimal literals. */
import { call, isObject, type Json, nodeOf, text } from "../../../shared/sql/googlesql/tree.ts";

/** Replaces escapes such as `\x01`. The parser itself replaces them in `b"\x01"` but not in `b'\x01'`. */
const unescaped = (text: string): string =>
  text.replace(/\\x([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

const hexOf = (text: string): string =>
  Buffer.from(text, /^[\0-\xff]*$/.test(text) ? "latin1" : "utf8").toString("hex");

export const bytesAsHex = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(bytesAsHex);
  if (!isObject(value)) return value;
  const node = nodeOf(value);
  if (node?.kind !== "literal" || node.body["literal_type"] !== "byte_string")
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, bytesAsHex(one as Json)]));
  return call("bq_bytes", [text(hexOf(unescaped(String(node.body["value"]))))]);
};
