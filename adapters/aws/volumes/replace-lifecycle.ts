/** Replaces Portside's lifecycle rules on a bucket. */
import type { LifecycleRule } from "@aws-sdk/client-s3";
import { ok, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { withLifecycle } from "./bucket-settings.ts";
import type { S3Api } from "./s3-calls.ts";

/**
 * Replaces Portside's rules with `own`, and keeps the rules that operators have added. S3 cannot write a lifecycle
 * configuration conditionally, so a concurrent change by an operator may be lost. Concurrent calls cannot mix their
 * rules, because each call writes a complete set.
 */
export const replaceLifecycle = (
  api: S3Api,
  id: string,
  own: readonly LifecycleRule[],
): ApiResult<"not_found" | undefined> =>
  safeTry(async function* () {
    const found = yield* await api.lifecycle(id);
    if (found === "not_found") return ok(found);
    return api.putLifecycle(id, { ...found, rules: withLifecycle(found.rules, own) });
  });
