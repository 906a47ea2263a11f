/** The Cloud Build and Artifact Registry calls of builds. cloudbuild.proto; artifactregistry/v1/tag.proto. */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../../shared/calls/provider-call.ts";
import { callOptions, codeOf, grpcCodes } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { GcpConfig } from "../../config.ts";
import { tagNameOf } from "./names.ts";
import type { Build } from "./render.ts";

const TIMEOUT_MS = 60_000;
/** An abort may take five seconds in total. */
const CANCEL_TIMEOUT_MS = 1500;
const PAUSE_MS = 1000;
const TRIES = 20;
const FINAL_CODES = [grpcCodes.PERMISSION_DENIED, grpcCodes.UNAUTHENTICATED];

type Called<T> = Promise<Result<T, CallState | Unavailable>>;

export interface Builds {
  /** Returns whether the source's image already exists. */
  imageExists(owner: AccountId, digest: string, signal: AbortSignal): Called<boolean>;
  /**
   * Starts a build and returns its id. If a response was lost, finds its build by the mark instead of starting another.
   */
  start(build: Build, mark: string, signal: AbortSignal): Called<string>;
  get(id: string, signal: AbortSignal): Called<Build>;
  /** Cancels a build within seconds, even if only its mark is known. */
  cancel(build: { readonly id?: string; readonly mark: string }): Called<void>;
}

/** True if no build was started and a retry cannot succeed. */
const isFinal = (error: CallState | Unavailable): boolean =>
  isCallState(error) || FINAL_CODES.some((code) => code === codeOf(error.cause));

export const createBuilds = (config: GcpConfig, clients: ClientSource, call: ProviderCall, clock: Clock): Builds => {
  const { project: projectId, region } = config;
  const parent = `projects/${projectId}/locations/${region}`;
  const nameOf = (id: string) => ({ name: `${parent}/builds/${id}`, projectId, id });

  const create = (build: Build, signal: AbortSignal) =>
    // Never retried: each call starts a build.
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

  /** Returns the build's id, from the response or by its mark. Without an id, the caller may retry. */
  const createOnce = async (
    build: Build,
    mark: string,
    signal: AbortSignal,
  ): Called<{ readonly id?: string; readonly failed?: Unavailable | CallState }> => {
    const created = await create(build, signal);
    if (created.isOk() && created.value !== "") return ok({ id: created.value });
    if (created.isErr() && isFinal(created.error)) return err(created.error);
    const begun = await findByMark(mark, TIMEOUT_MS, signal);
    if (begun.isErr()) return err(begun.error);
    if (begun.value !== undefined) return ok({ id: begun.value });
    return ok(created.isErr() ? { failed: created.error } : {});
  };

  return {
    imageExists: async (owner, digest, signal) => {
      const found = await call({ what: "artifactregistry.tags.get", timeoutMs: TIMEOUT_MS, signal }, async () => {
        const client = await clients("registry");
        await client.getTag({ name: tagNameOf(config, owner, digest) }, callOptions(signal));
        return true;
      });
      return found.isErr() && isCallState(found.error) && found.error.code === "not_found" ? ok(false) : found;
    },

    start: async (build, mark, signal) => {
      for (let tries = 1; ; tries++) {
        const begun = await createOnce(build, mark, signal);
        if (begun.isErr() || begun.value.id !== undefined) return begun.map(({ id }) => id as string);
        const { failed } = begun.value;
        if (tries === TRIES || signal.aborted)
          return err(failed ?? unavailable("Cloud Build did not return the build's id.", 60));
        await clock.sleep(PAUSE_MS * Math.min(tries, 5), signal);
      }
    },

    get: (id, signal) =>
      call({ what: "cloudbuild.builds.get", timeoutMs: TIMEOUT_MS, signal }, async () => {
        const client = await clients("builds");
        return (await client.getBuild(nameOf(id), callOptions(signal)))[0];
      }),

    cancel: async ({ id, mark }) => {
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
