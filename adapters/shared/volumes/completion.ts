/**
 * The body that completes an upload in parts, and its response, as in S3, so that clients need only one format.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import type { CompleteOutcome, ListedPart } from "./object-bytes.ts";
import { xmlElements, xmlField } from "./xml-field.ts";

/** The list of 10,000 parts needs about 1 MB. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Returns undefined if the body is too large. */
const readBody = async (req: IncomingMessage): Promise<string | undefined> => {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MAX_BODY_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
};

/** Returns the parts in their order. Returns undefined if the body has no parts or does not sort them by number. */
export const parseParts = (body: string): ListedPart[] | undefined => {
  const parts: ListedPart[] = [];
  for (const part of xmlElements(body, "Part")) {
    const number = Number(xmlField(part, "PartNumber"));
    const tag = xmlField(part, "ETag");
    if (tag === undefined || !Number.isSafeInteger(number) || number <= (parts.at(-1)?.number ?? 0)) return undefined;
    // A client may send the tag without its quotes.
    parts.push({ number, etag: `"${tag.replaceAll('"', "")}"` });
  }
  return parts.length === 0 ? undefined : parts;
};

export const readParts = async (req: IncomingMessage): Promise<ListedPart[] | undefined> =>
  parseParts((await readBody(req)) ?? "");

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

interface XmlResponse {
  readonly status: number;
  readonly body: string;
}

export const xmlError = (status: number, code: string, message: string): XmlResponse => ({
  status,
  body: `<Error><Code>${code}</Code><Message>${escaped(message)}</Message></Error>`,
});

export const malformed = xmlError(
  400,
  "MalformedXML",
  "Send a CompleteMultipartUpload that lists every part once, sorted by number.",
);

export const completionOf = (path: ObjectPath, size: number, outcome: CompleteOutcome): XmlResponse => {
  switch (outcome.kind) {
    case "stored": {
      const etag = `<ETag>${escaped(outcome.etag)}</ETag>`;
      return { status: 200, body: `<CompleteMultipartUploadResult>${etag}</CompleteMultipartUploadResult>` };
    }
    case "no_upload":
      return xmlError(404, "NoSuchUpload", "The upload does not exist. It may be complete. Start a new upload.");
    case "no_volume":
      return xmlError(404, "NoSuchBucket", "The volume does not exist. It may have been deleted.");
    case "invalid_part":
      return xmlError(
        400,
        "InvalidPart",
        `The storage has no part ${outcome.number} with this ETag. Resume the upload, and send the missing parts.`,
      );
    case "wrong_size":
      return xmlError(
        400,
        "InvalidPart",
        `The listed parts have ${outcome.size} bytes, but the object has ${size}. List every part.`,
      );
    case "condition_failed":
      return xmlError(412, "PreconditionFailed", `'${path}' does not match the request's If-Match or If-None-Match.`);
    case "in_the_way":
      return xmlError(
        409,
        "InvalidRequest",
        `'${path}' cannot be stored together with '${outcome.other}': a name is either a file or a folder. Delete '${outcome.other}', or choose a different path.`,
      );
    case "busy":
      return xmlError(503, "SlowDown", `'${path}' could not be written: a service is changing its folder. Try again.`);
  }
};

/** How long a client may wait without bytes from the server. */
const SILENCE_MS = 10_000;

const XML = { "content-type": "application/xml" };

/**
 * Responds when the completion has ended. Copying large parts takes minutes, so the response may begin earlier, with
 * spaces before the XML. Its status is then 200 even for an error, as in S3.
 */
export const respondLater = async (res: ServerResponse, work: Promise<XmlResponse>): Promise<void> => {
  const alive = setInterval(() => {
    if (!res.headersSent) res.writeHead(200, XML);
    res.write(" ");
  }, SILENCE_MS);
  try {
    const { status, body } = await work;
    if (!res.headersSent) res.writeHead(status, { ...XML, "content-length": Buffer.byteLength(body) });
    res.end(body);
  } finally {
    clearInterval(alive);
  }
};
