/**
 * A digest of Google's discovery documents: what a REST request may contain. `renew-digest.ts` writes it.
 * https://developers.google.com/discovery/v1/reference/apis
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

/** A JSON schema, as far as discovery documents use it. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly $ref?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly readOnly?: boolean;
  /** True if every request that creates or replaces requires the field; otherwise the ids of the methods that do. */
  readonly required?: true | readonly string[];
}

export interface Parameter extends Schema {
  readonly repeated?: boolean;
}

export interface Method {
  readonly id: string;
  readonly verb: string;
  /** Template such as `/storage/v1/b/{bucket}`. */
  readonly path: string;
  /** Template for uploads with a body that is not JSON. */
  readonly upload?: string;
  readonly isDownload?: boolean;
  readonly query: Readonly<Record<string, Parameter>>;
  /** Name of the body's schema. */
  readonly request?: string;
  readonly response?: string;
}

export interface Api {
  readonly methods: readonly Method[];
  readonly schemas: Readonly<Record<string, Schema>>;
  /** Query parameters of every method. */
  readonly query: Readonly<Record<string, Parameter>>;
}

export interface Digest {
  /** Revision of each document. */
  readonly revisions: Readonly<Record<string, string>>;
  /** The APIs of each host; a host may serve several versions. */
  readonly hosts: Readonly<Record<string, readonly Api[]>>;
  /** Output-only fields by the full name of the proto's message: some protos say so only in a comment. */
  readonly outputOnly: Readonly<Record<string, readonly string[]>>;
}

export const digestFile = new URL("./digest.json.gz", import.meta.url);

let known: Digest | undefined;
export const digest = (): Digest => {
  known ??= JSON.parse(gunzipSync(readFileSync(digestFile)).toString()) as Digest;
  return known;
};
