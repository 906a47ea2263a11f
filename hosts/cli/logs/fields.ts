/** Formats a structured entry's fields as `name=value`, with multi-line values such as stack traces below. */

export interface FieldWords {
  /** `name=value`, after the message. */
  readonly inline: readonly string[];
  /** Below the message. */
  readonly below: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Text that would be misread without quotes: a number, a list, two words. */
const needsQuotes = (text: string): boolean =>
  text === "" ||
  /[\s"'=,\\]|^[[{]/.test(text) ||
  ["true", "false", "null"].includes(text) ||
  !Number.isNaN(Number(text));

const word = (text: string): string => (needsQuotes(text) ? JSON.stringify(text) : text);

const nameText = (name: string): string => (name === "" || /[\s"'=,\\]/.test(name) ? JSON.stringify(name) : name);

const pair = (name: string, value: unknown): string =>
  `${nameText(name)}=${typeof value === "string" ? word(value) : JSON.stringify(value)}`;

/** Stack traces, printed without the field's name. */
const stackNames = new Set(["stack", "stack_trace", "exception", "exc_info", "traceback"]);

const textField = (name: string, value: string): FieldWords => {
  const last = name.slice(name.lastIndexOf(".") + 1);
  const text = value.replace(/\s+$/, "");
  if (!text.includes("\n")) return { inline: [pair(name, value)], below: [] };
  return { inline: [], below: [stackNames.has(last) ? text : `${nameText(name)}:\n${text}`] };
};

const together = (all: readonly FieldWords[]): FieldWords => ({
  inline: all.flatMap(({ inline }) => inline),
  below: all.flatMap(({ below }) => below),
});

/** An error as pino writes it. Its stack repeats its type and message. */
const errorField = (name: string, { stack, type, message, ...rest }: Fields): FieldWords => {
  const head = [type, message].filter((part) => typeof part === "string").join(": ");
  const said = typeof stack === "string" ? textField(`${name}.stack`, stack) : textField(name, head);
  return together([said, ...Object.entries(rest).map(([key, value]) => fieldWords(`${name}.${key}`, value))]);
};

const looksLikeError = (value: unknown): value is Fields =>
  isFields(value) && (typeof value["stack"] === "string" || typeof value["message"] === "string");

/** A request or response of pino-http, reduced to its distinguishing fields. `--json` shows the rest. */
const httpWords = (name: string, value: unknown): string | undefined => {
  if (!isFields(value)) return undefined;
  const { method, url, headers, statusCode } = value;
  if (name === "req" && typeof method === "string" && typeof url === "string") return pair(name, `${method} ${url}`);
  if (name === "res" && typeof statusCode === "number" && (headers === undefined || isFields(headers)))
    return pair(name, statusCode);
  return undefined;
};

export const fieldWords = (name: string, value: unknown): FieldWords => {
  if (typeof value === "string") return textField(name, value);
  if (/^(err|error|exception)$/.test(name) && looksLikeError(value)) return errorField(name, value);
  return { inline: [httpWords(name, value) ?? pair(name, value)], below: [] };
};

export const fieldsWords = (fields: readonly (readonly [string, unknown])[]): FieldWords =>
  together(fields.map(([name, value]) => fieldWords(name, value)));
