/** Reads the bodies of an authority's responses. */
import type { z } from "zod";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import type { AcmeResponse } from "./http.ts";

/** Returns the error for a response that violates the protocol. */
export const malformedResponse = (authority: string, cause: unknown): Unavailable =>
  unavailable(`The certificate authority ${authority} sent a malformed response.`, 60, cause);

/** Parses a JSON body. */
export const parseBody = <T>(
  authority: string,
  schema: z.ZodType<T>,
  { text }: AcmeResponse,
): Result<T, Unavailable> => {
  const parsed = schema.safeParse(tryOr((): unknown => JSON.parse(text), undefined));
  return parsed.success ? ok(parsed.data) : err(malformedResponse(authority, parsed.error));
};
