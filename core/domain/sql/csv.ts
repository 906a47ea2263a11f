/**
 * Formats rows as CSV for spreadsheets (RFC 4180). Spreadsheets need the byte order mark to detect UTF-8. Cells that a
 * spreadsheet would run as formulas are escaped: https://owasp.org/www-community/attacks/CSV_Injection
 */

const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

const cell = (value: unknown): string => {
  const text =
    value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const BYTE_ORDER_MARK = "\ufeff";

export const csvLine = (values: readonly unknown[]): string => `${values.map(cell).join(",")}\r\n`;

/** Returns a document with a heading and rows. */
export const csvText = (names: readonly string[], rows: readonly (readonly unknown[])[]): string =>
  BYTE_ORDER_MARK + csvLine(names) + rows.map(csvLine).join("");
