/** The fake's uploads: https://cloud.google.com/storage/docs/uploads-downloads (media, multipart, resumable). */
import { randomBytes } from "node:crypto";
import { failure, jsonReply, type Reply } from "./failure.ts";
import { generationHolds, objectResource } from "./json-api.ts";
import type { NewObject, StorageWorld } from "./world.ts";

export interface UploadCall {
  readonly bucket: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  /** The request's URL, from which a resumable upload's session URL is built. */
  readonly url: string;
}

const CHUNK = 256 * 1024;

interface Session {
  readonly bucket: string;
  readonly query: URLSearchParams;
  readonly metadata: Partial<NewObject>;
  bytes: Buffer;
}

interface ObjectBody {
  readonly name?: string;
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly metadata?: Record<string, string>;
}

const described = ({ name, contentType, contentEncoding, metadata }: ObjectBody): Partial<NewObject> => ({
  ...(name === undefined ? {} : { name }),
  ...(contentType === undefined ? {} : { contentType }),
  ...(contentEncoding === undefined ? {} : { contentEncoding }),
  ...(metadata === undefined ? {} : { metadata }),
});

/** https://www.rfc-editor.org/rfc/rfc2387: metadata first, then the bytes */
const splitRelated = (body: Buffer, contentType: string): { readonly json: ObjectBody; readonly bytes: Buffer } => {
  const boundary = /boundary="?([^";]+)"?/.exec(contentType)?.[1];
  const mark = Buffer.from(`--${boundary}`);
  const first = body.indexOf(mark);
  const second = body.indexOf(mark, first + mark.length);
  const last = body.lastIndexOf(mark);
  if (boundary === undefined || first < 0 || second < 0 || last <= second)
    throw failure(400, "badContent", "A multipart upload has two parts.");
  const content = (from: number, to: number) => {
    const part = body.subarray(from + mark.length + 2, to - 2);
    return part.subarray(part.indexOf("\r\n\r\n") + 4);
  };
  return { json: JSON.parse(content(first, second).toString()) as ObjectBody, bytes: content(second, last) };
};

export class Uploads {
  readonly #world: StorageWorld;
  readonly #sessions = new Map<string, Session>();
  /** Replies of completed sessions. */
  readonly #made = new Map<string, Reply>();

  constructor(world: StorageWorld) {
    this.#world = world;
  }

  /** Number of sessions that hold bytes and are neither completed nor cancelled. */
  get unfinished(): number {
    return [...this.#sessions.values()].filter(({ bytes }) => bytes.length > 0).length;
  }

  start({ bucket, query, headers, body, url }: UploadCall): Reply {
    this.#world.bucket(bucket);
    const type = headers["content-type"] ?? "";
    const named = query.get("name") === null ? {} : { name: query.get("name") as string };
    switch (query.get("uploadType")) {
      case "media":
        return this.#store(bucket, query, { ...named, ...(type === "" ? {} : { contentType: type }) }, body);
      case "multipart": {
        const { json, bytes } = splitRelated(body, type);
        return this.#store(bucket, query, { ...described(json), ...named }, bytes);
      }
      case "resumable": {
        const id = randomBytes(12).toString("hex");
        const given = body.length === 0 ? {} : (JSON.parse(body.toString()) as ObjectBody);
        const sent = headers["x-upload-content-type"];
        const metadata = { ...(sent === undefined ? {} : { contentType: sent }), ...described(given), ...named };
        this.#sessions.set(id, { bucket, query, metadata, bytes: Buffer.alloc(0) });
        return { status: 200, headers: { location: `${url}&upload_id=${id}`, "x-guploader-uploadid": id } };
      }
      default:
        throw failure(400, "invalid", "uploadType");
    }
  }

  /** https://cloud.google.com/storage/docs/performing-resumable-uploads: 308 until the last byte has arrived */
  resume(id: string, range: string | undefined, body: Buffer): Reply {
    const made = this.#made.get(id);
    if (made !== undefined) return made;
    const session = this.#sessions.get(id);
    if (session === undefined) throw failure(404, "notFound", "There is no such upload.");
    const [, start, end, total] = /^bytes (?:(\d+)-(\d+|\*)|\*)\/(\d+|\*)$/.exec(range ?? "bytes 0-*/*") ?? [];
    // "The chunk size must be a multiple of 256 KB (256 x 1024 bytes), unless it's the last chunk"
    if (end !== undefined && end !== "*" && total === "*" && body.length % CHUNK !== 0)
      throw failure(400, "badRequest", "Every piece except the last must be a multiple of 256 KiB.");
    if (start !== undefined) session.bytes = Buffer.concat([session.bytes.subarray(0, Number(start)), body]);
    // `0-*` ends with its body; a chunk with a known end but no total is not the last.
    const isWhole = end === "*" || Number(total) === session.bytes.length;
    if (!isWhole) {
      const { length } = session.bytes;
      return { status: 308, headers: length === 0 ? {} : { range: `bytes=0-${length - 1}` } };
    }
    this.#sessions.delete(id);
    const reply = this.#store(session.bucket, session.query, session.metadata, session.bytes);
    this.#made.set(id, reply);
    return reply;
  }

  /** .../performing-resumable-uploads#cancel-upload: "499 Client Closed Request" */
  cancel(id: string): Reply {
    if (!this.#sessions.delete(id)) throw failure(404, "notFound", "There is no such upload.");
    return { status: 499 };
  }

  #store(name: string, query: URLSearchParams, object: Partial<NewObject>, bytes: Buffer): Reply {
    if (object.name === undefined) throw failure(400, "required", "Required parameter: name");
    const bucket = this.#world.bucket(name);
    generationHolds(bucket, object.name, query);
    const made = this.#world.putObject(bucket, { ...object, name: object.name, bytes: Buffer.from(bytes) });
    return jsonReply(objectResource(name, made));
  }
}
