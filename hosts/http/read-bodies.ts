/** What bodies an endpoint takes, decided from the headers, and how a JSON body is read. */
import type { FastifyInstance } from "fastify";
import { issue } from "../../core/domain/wire/issue.ts";
import { parseStrictJson } from "../../core/domain/wire/strict-json.ts";
import { type ControlPlaneError, invalidInput } from "../../core/errors.ts";
import type { Endpoint } from "./endpoints.ts";

const JSON_BODY_BYTES = 1024 * 1024;

const FORM = "multipart/form-data";
const JSON_TYPE = "application/json";

const mediaType = (header: string | undefined): string => (header ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/** What is wrong with a request's content type, in words; an absent one stands for an absent body. */
export const contentTypeProblem = (
  endpoint: Endpoint,
  contentType: string | undefined,
  hasBody: boolean,
): string | undefined => {
  if (endpoint.method === "GET") return undefined;
  const wanted = endpoint.kind === "json" ? JSON_TYPE : FORM;
  if (contentType === undefined && !hasBody && wanted === JSON_TYPE) return undefined;
  const given = mediaType(contentType);
  return given === wanted ? undefined : `This endpoint takes ${wanted}${given === "" ? "" : `, not ${given}`}.`;
};

/** A body that is no JSON object; thrown in the parser, answered by the error handler. */
export class BodyRefused extends Error {
  readonly error: ControlPlaneError;
  constructor(error: ControlPlaneError) {
    super(error.message);
    this.error = error;
  }
}

const readBody = (text: string): Record<string, unknown> => {
  const json = parseStrictJson(text);
  if (!json.ok) throw new BodyRefused(invalidInput([issue([], json.message, "json_invalid")]));
  const { value } = json;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new BodyRefused(invalidInput([issue([], "must be a JSON object", "dict_type")]));
  return value as Record<string, unknown>;
};

/** Fastify reads JSON by our rules, and leaves forms to their handlers. */
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
