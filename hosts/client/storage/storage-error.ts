/**
 * Reads error responses from storage services. S3 and the XML API of Cloud Storage send
 * `<Error><Code>…</Code><Message>…</Message>`
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html). Other storage services send JSON errors in
 * Portside's format.
 */
import { ApiError, apiError, ConnectionError, retryAfterOf } from "../errors.ts";

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

/** Parses an error in XML. Returns undefined if the body is not such an error. */
export const parseStorageError = (body: string): StorageError | undefined => {
  const error = /<Error>(.*)<\/Error>/s.exec(body)?.[1];
  const code = error === undefined ? undefined : child(error, "Code");
  return error === undefined || code === undefined ? undefined : { code, message: child(error, "Message") ?? "" };
};

const nextStep: Readonly<Record<string, string>> = {
  MissingContentLength: "Write the data to a file, and upload the file.",
  RequestTimeTooSkewed: "Correct the clock of this machine.",
  EntityTooLarge: "Write the data to a file, and upload the file: large files are uploaded in parts.",
};

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

export const formatStorageError = ({ code, message }: StorageError): string =>
  [`The storage rejected the request (${code})`, ...(message === "" ? [] : [message])].map(sentence).join(" ") +
  (nextStep[code] === undefined ? "" : ` ${nextStep[code]}`);

/**
 * Codes of errors that are temporary although their status suggests otherwise. `RequestTimeout` means that the
 * connection was idle for too long.
 */
const temporaryCodes: ReadonlySet<string> = new Set(["RequestTimeout", "OperationAborted"]);

/**
 * Statuses of temporary errors, in addition to 429 and 503:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html (500),
 * https://cloud.google.com/storage/docs/retry-strategy (408, 500, 502, 504)
 */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 500, 502, 504]);

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** Creates the error for a broken connection. */
export const brokenConnection = (error: unknown): ConnectionError => {
  const { cause = error } = error as { cause?: unknown };
  const { code, message } = cause as { code?: string; message?: string };
  return new ConnectionError(`Lost the connection to the storage (${code ?? message}). Start the transfer again.`);
};

/** Reads a whole body. Throws `ConnectionError` if the connection breaks, which `fetch` reports as a `TypeError`. */
export const textOf = (response: Response): Promise<string> =>
  response.text().catch((error: unknown) => {
    throw error instanceof TypeError ? brokenConnection(error) : error;
  });

/** Reads the body of a storage's error response. */
export const readStorageError = async (response: Response): Promise<ApiError | ConnectionError> => {
  const body = await textOf(response);
  const error = parseStorageError(body);
  const rejection =
    error === undefined
      ? apiError(response, jsonOf(body))
      : new ApiError(response.status, formatStorageError(error), { retryAfter: retryAfterOf(response.headers) });
  const isTemporary = temporaryStatuses.has(response.status) || temporaryCodes.has(error?.code ?? "");
  return isTemporary ? new ConnectionError(rejection.message) : rejection;
};
