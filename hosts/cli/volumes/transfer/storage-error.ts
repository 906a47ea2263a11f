/**
 * Refusals of storages in words. Those that speak S3's language say them as `<Error><Code>…</Code><Message>…</Message>`
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, and Cloud Storage's XML API); others as the API does.
 */
import { type ApiError, apiErrorMessage, ConnectionError, createApiError } from "../../client.ts";

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

const unescaped = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });

const child = (xml: string, name: string): string | undefined => {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found === undefined ? undefined : unescaped(found).trim();
};

export interface StorageError {
  readonly code: string;
  readonly message: string;
}

/** Undefined: it is none of theirs. */
export const parseStorageError = (body: string): StorageError | undefined => {
  const error = /<Error>(.*)<\/Error>/s.exec(body)?.[1];
  const code = error === undefined ? undefined : child(error, "Code");
  return error === undefined || code === undefined ? undefined : { code, message: child(error, "Message") ?? "" };
};

/** Where the storage's own words do not say what to do. */
const nextStep: Readonly<Record<string, string>> = {
  MissingContentLength: "Put it into a file first, and send that.",
  RequestTimeTooSkewed: "Set this machine's clock.",
  EntityTooLarge: "Send it as a file, whose size is known before: large ones are sent in parts.",
};

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

export const formatStorageError = ({ code, message }: StorageError): string =>
  [`The storage refused it (${code})`, ...(message === "" ? [] : [message])].map(sentence).join(" ") +
  (nextStep[code] === undefined ? "" : ` ${nextStep[code]}`);

/** What passes by itself although its status is a client's mistake: "was not read from or written to within the timeout period". */
const passing: ReadonlySet<string> = new Set(["RequestTimeout", "OperationAborted"]);

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** The refusal that a storage's response is; reads its body. */
export const readStorageError = async (response: Response): Promise<ApiError | ConnectionError> => {
  const body = await response.text();
  const error = parseStorageError(body);
  if (error !== undefined && passing.has(error.code)) return new ConnectionError(formatStorageError(error));
  const words = error === undefined ? apiErrorMessage(response.status, jsonOf(body)) : formatStorageError(error);
  return createApiError(words, response);
};
