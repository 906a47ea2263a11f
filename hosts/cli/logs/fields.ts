/**
 * Formats a structured entry's fields as `name=value`. Multi-line values, such as stack traces, are printed below the
 * message.
 */

export interface FieldText {
  /** `name=value`, after the message. */
  readonly inline: readonly string[];
  /** Below the message. */
  readonly below: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns whether the text needs quotes, because it looks like a JSON value or contains a space or a separator. */
const needsQuotes = (text: string): boolean =>
  text === "" ||
  /[\s"'=,\\]|^[[{]/.test(text) ||
  ["true", "false", "null"].includes(text) ||
  !Number.isNaN(Number(text));

const word = (text: string): string => (needsQuotes(text) ? JSON.stringify(text) : text);

const nameText = (name: string): string => (name === "" || /[\s"'=,\\]/.test(name) ? JSON.stringify(name) : name);

const pair = (name: string, value: unknown): string =>
  `${nameText(name)}=${typeof value === "string" ? word(value) : JSON.stringify(value)}`;

/** Names of fields that contain stack traces. A multi-line value is printed without the name. */
const stackNames = new Set(["stack", "stack_trace", "exception", "exc_info", "traceback"]);

const textField = (name: string, value: string): FieldText => {
  const last = name.slice(name.lastIndexOf(".") + 1);
  const text = value.replace(/\s+$/, "");
  if (!text.includes("\n")) return { inline: [pair(name, value)], below: [] };
  return { inline: [], below: [stackNames.has(last) ? text : `${nameText(name)}:\n${text}`] };
};

const together = (all: readonly FieldText[]): FieldText => ({
  inline: all.flatMap(({ inline }) => inline),
  below: all.flatMap(({ below }) => below),
});

/** An error as pino writes it. Its stack repeats its type and message. */
const errorField = (name: string, { stack, type, message, ...rest }: Fields): FieldText => {
  const head = [type, message].filter((part) => typeof part === "string").join(": ");
  const summary = typeof stack === "string" ? textField(`${name}.stack`, stack) : textField(name, head);
  return together([summary, ...Object.entries(rest).map(([key, value]) => formatField(`${name}.${key}`, value))]);
};

const looksLikeError = (value: unknown): value is Fields =>
  isFields(value) && (typeof value["stack"] === "string" || typeof value["message"] === "string");

/** A request or response of pino-http, reduced to its distinguishing fields. `--json` shows the rest. */
const formatHttp = (name: string, value: unknown): string | undefined => {
  if (!isFields(value)) return undefined;
  const { method, url, headers, statusCode } = value;
  if (name === "req" && typeof method === "string" && typeof url === "string") return pair(name, `${method} ${url}`);
  if (name === "res" && typeof statusCode === "number" && (headers === undefined || isFields(headers)))
    return pair(name, statusCode);
  return undefined;
};

export const formatField = (name: string, value: unknown): FieldText => {
  if (typeof value === "string") return textField(name, value);
  if (/^(err|error|exception)$/.test(name) && looksLikeError(value)) return errorField(name, value);
  return { inline: [formatHttp(name, value) ?? pair(name, value)], below: [] };
};

export const formatFields = (fields: readonly (readonly [string, unknown])[]): FieldText =>
  together(fields.map(([name, value]) => formatField(name, value)));
