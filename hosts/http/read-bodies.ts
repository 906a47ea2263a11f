/** Checks content types, and parses JSON bodies strictly. */
import type { FastifyInstance } from "fastify";
import { issue } from "../../core/domain/wire/issue.ts";
import { parseStrictJson } from "../../core/domain/wire/strict-json.ts";
import { type ControlPlaneError, invalidInput } from "../../core/errors.ts";
import { type Endpoint, takesForm } from "./endpoints.ts";

const JSON_BODY_BYTES = 1024 * 1024;

const FORM = "multipart/form-data";
const JSON_TYPE = "application/json";

const mediaType = (header: string | undefined): string => (header ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/**
 * Returns the detail of a 415, or undefined if the content type is correct. A JSON request may omit both type and body.
 */
export const contentTypeProblem = (
  endpoint: Endpoint,
  contentType: string | undefined,
  hasBody: boolean,
): string | undefined => {
  if (endpoint.method === "GET") return undefined;
  const expected = takesForm(endpoint) ? FORM : JSON_TYPE;
  if (contentType === undefined && !hasBody && expected === JSON_TYPE) return undefined;
  const given = mediaType(contentType);
  if (given === expected) return undefined;
  return `${given === "" ? "The content type is missing" : `Unsupported content type '${given}'`}. Send ${expected}.`;
};

/** Thrown by the parser if a body is not a JSON object. The error handler sends its `error`. */
export class InvalidBodyError extends Error {
  readonly error: ControlPlaneError;
  constructor(error: ControlPlaneError) {
    super(error.message);
    this.error = error;
  }
}

const readBody = (text: string): Record<string, unknown> => {
  const json = parseStrictJson(text);
  if (!json.ok) throw new InvalidBodyError(invalidInput([issue([], json.message, "json_invalid")]));
  const { value } = json;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidBodyError(invalidInput([issue([], "must be a JSON object", "dict_type")]));
  return value as Record<string, unknown>;
};

/** Replaces Fastify's JSON parser with the strict one, and leaves forms to their handlers. */
export const readBodies = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(JSON_TYPE, { parseAs: "string", bodyLimit: JSON_BODY_BYTES }, (_request, body, done) => {
    try {
      done(null, body === "" ? {} : readBody(body as string));
    } catch (error) {
      done(error as Error);
    }
  });
  app.addContentTypeParser(FORM, (_request, _payload, done) => done(null, undefined));
};
