/** The directory of an authority: RFC 8555, section 7.1.1. */
import { z } from "zod";
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { AcmeHttp } from "./http.ts";
import { failureOf } from "./problem.ts";
import { parseBody } from "./responses.ts";

const directorySchema = z.object({
  newNonce: z.url(),
  newAccount: z.url(),
  newOrder: z.url(),
  keyChange: z.url(),
  /** RFC 9773, section 4.1. */
  renewalInfo: z.url().optional(),
  meta: z
    .object({
      termsOfService: z.string().optional(),
      externalAccountRequired: z.boolean().optional(),
      /** Descriptions by name: draft-ietf-acme-profiles, section 3. */
      profiles: z.record(z.string(), z.string()).optional(),
    })
    .default({}),
});

export type Directory = z.infer<typeof directorySchema>;

/** Authorities add and remove profiles without notice. */
const LIFETIME_MS = 3_600_000;

/** Returns a function that reads the directory and caches it for an hour. */
export const directoryReader = (
  authority: string,
  url: string,
  { http, clock }: { readonly http: AcmeHttp; readonly clock: Clock },
): ((options?: CallOptions) => ResultAsync<Directory, Unavailable>) => {
  let known: { readonly directory: Directory; readonly until: Instant } | undefined;
  return (options) =>
    safeTry(async function* () {
      if (known !== undefined && clock.now() < known.until) return ok(known.directory);
      const response = yield* http.send("GET", url, undefined, options);
      const failure = failureOf(authority, response, clock.now());
      if (failure?.kind === "problem")
        return err(unavailable(`The certificate authority ${authority} did not send its directory.`, 60, failure));
      if (failure !== undefined) return err(failure);
      const directory = yield* parseBody(authority, directorySchema, response);
      known = { directory, until: plusMillis(clock.now(), LIFETIME_MS) };
      return ok(directory);
    });
};
