/** What an endpoint is: its path, its fields, its answer, and the use case behind it. */
import type { z } from "zod";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/accounts/account.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { ResultAsync } from "../../core/result.ts";
import type { Place } from "./error-response.ts";

type Fields = Readonly<Record<string, z.ZodType>>;
type Raw = Readonly<Record<string, unknown>>;

interface Described {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly summary: string;
  /** What a caller should know beyond the summary, in sentences. */
  readonly description: string;
  readonly place: Place;
  readonly fields: Fields;
  /** Fields of which at least one must be there. */
  readonly needsOneOf?: readonly string[];
  readonly answer: z.ZodType;
}

/** An endpoint that takes fields and gives JSON. */
export interface JsonEndpoint extends Described {
  readonly kind: "json";
  readonly run: (
    controlPlane: ControlPlane,
    principal: Principal,
    request: Raw,
    options: { readonly signal: AbortSignal },
  ) => ResultAsync<unknown, ControlPlaneError>;
  /** What is not the answer's body but a header of it. Absent: all of it is the body. */
  readonly render?: (answer: unknown) => Rendered;
  /** The headers that `render` gives, each with its meaning. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Rendered {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** An endpoint of its own kind: a form, a stream. Its handler stands with its subject. */
export interface SpecialEndpoint extends Described {
  readonly kind: "deploy" | "plan" | "resume";
}

export type Endpoint = JsonEndpoint | SpecialEndpoint;

/** An endpoint of the usual kind. */
export const json = (endpoint: Omit<JsonEndpoint, "kind">): JsonEndpoint => ({ kind: "json", ...endpoint });
