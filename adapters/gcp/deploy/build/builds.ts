/** Calls Cloud Build and Artifact Registry for builds: cloudbuild.proto, artifactregistry/v1/tag.proto. */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../../cloud/calls/provider-call.ts";
import { callOptions, codeOf, grpcCodes, onState } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { GcpConfig } from "../../config.ts";
import { parentOf } from "../../location.ts";
import { tagNameOf } from "./names.ts";
import type { Build } from "./render.ts";

const TIMEOUT_MS = 60_000;
/** An abort may take five seconds in total. */
const CANCEL_TIMEOUT_MS = 1500;
const PAUSE_MS = 1000;
const TRIES = 20;
const FINAL_CODES = [grpcCodes.PERMISSION_DENIED, grpcCodes.UNAUTHENTICATED];

type Called<T> = Promise<Result<T, CallState | Unavailable>>;

/** True if no build was started and a retry cannot succeed. */
const isFinal = (error: CallState | Unavailable): boolean =>
  isCallState(error) || FINAL_CODES.some((code) => code === codeOf(error.cause));

export const createBuilds = (config: GcpConfig, clients: ClientSource, call: ProviderCall, clock: Clock) => {
  const { project: projectId, buildRegion } = config;
  const parent = parentOf({ project: projectId, region: buildRegion });
  const nameOf = (id: string) => ({ name: `${parent}/builds/${id}`, projectId, id });

  const create = (build: Build, signal: AbortSignal) =>
    // Must not retry, because each call may start a build. `start` repeats the call only if no build has the mark.
    call({ what: "cloudbuild.builds.create", timeoutMs: 0, signal }, async () => {
      const client = await clients("builds");
      const [operation] = await client.createBuild({ parent, projectId, build }, callOptions(signal));
      const { build: begun } = (operation.metadata ?? {}) as { build?: Build };
      return begun?.id ?? "";
    });

  const findByMark = (mark: string, timeoutMs: number, signal?: AbortSignal) =>
    call({ what: "cloudbuild.builds.list", timeoutMs, signal }, async () => {
      const client = await clients("builds");
      const request = { parent, projectId, pageSize: 1, filter: `tags="${mark}"` };
      const [found] = await client.listBuilds(request, { ...callOptions(signal), autoPaginate: false });
      return found[0]?.id ?? undefined;
    });

  /**
   * Creates a build. If the response was lost or has no id, finds the build by its mark. If the result has no id, the
   * caller may retry.
   */
  const createOnce = (build: Build, mark: string, signal: AbortSignal) =>
    safeTry(async function* () {
      const created = await create(build, signal);
      if (created.isErr() && isFinal(created.error)) return err(created.error);
      const id = created.unwrapOr("") || (yield* await findByMark(mark, TIMEOUT_MS, signal));
      return ok({ id, failed: created.isErr() ? created.error : undefined });
    });

  return {
    /** Returns the digest of the source's image, or undefined if the image does not exist. */
    imageDigest: async (owner: AccountId, digest: string, signal?: AbortSignal): Called<string | undefined> => {
      const found = await call({ what: "artifactregistry.tags.get", timeoutMs: TIMEOUT_MS, signal }, async () => {
        const client = await clients("registry");
        const [tag] = await client.getTag({ name: tagNameOf(config, owner, digest) }, callOptions(signal));
        return tag.version?.split("/versions/").at(-1);
      });
      return found.orElse(onState<string | undefined>("not_found", undefined));
    },

    /** Starts a build and returns its id. */
    start: (build: Build, mark: string, signal: AbortSignal): ResultAsync<string, CallState | Unavailable> =>
      safeTry(async function* () {
        for (let tries = 1; ; tries++) {
          const { id, failed } = yield* createOnce(build, mark, signal);
          if (id !== undefined) return ok(id);
          if (tries === TRIES || signal.aborted)
            return err(failed ?? unavailable("Cloud Build did not return the build's id.", 60));
          await clock.sleep(PAUSE_MS * Math.min(tries, 5), signal);
        }
      }),

    get: (id: string, signal: AbortSignal): Called<Build> =>
      call({ what: "cloudbuild.builds.get", timeoutMs: TIMEOUT_MS, signal }, async () => {
        const client = await clients("builds");
        return (await client.getBuild(nameOf(id), callOptions(signal)))[0];
      }),

    /** Cancels a build within seconds, even if only its mark is known. */
    cancel: async (id: string | undefined, mark: string): Called<void> => {
      const known = id === undefined ? await findByMark(mark, CANCEL_TIMEOUT_MS) : ok(id);
      if (known.isErr()) return err(known.error);
      const { value } = known;
      if (value === undefined) return ok(undefined);
      return call({ what: "cloudbuild.builds.cancel", timeoutMs: CANCEL_TIMEOUT_MS }, async () => {
        const client = await clients("builds");
        await client.cancelBuild(nameOf(value), callOptions());
      });
    },
  };
};
