/** Where a deploy's source comes from: sent with the request, or an object of a volume that is fetched at its turn. */
import type { Principal } from "../../domain/accounts/account.ts";
import { type DeployLimits, sourceObjectBytes } from "../../domain/accounts/limits.ts";
import type { DeployDeclaration } from "../../domain/deploy/declaration.ts";
import { building } from "../../domain/deploy/events.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import type { Issue } from "../../domain/wire/issue.ts";
import { type ControlPlaneError, internal } from "../../errors.ts";
import type { Ports } from "../../ports/provider.ts";
import type { Source } from "../../ports/source-spool.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type Result, type ResultAsync } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import { withinDeadline } from "../pipeline/within-deadline.ts";
import { openSourceObject } from "../volumes/objects.ts";
import { endedEarly, fail, formatDuration, type PhaseResult } from "./phase.ts";
import type { RunningDeploy } from "./running-deploy.ts";

export type LocatedSource =
  | { readonly kind: "received"; readonly source: Source }
  | {
      readonly kind: "object";
      /** `VOLUME/PATH`. */
      readonly words: string;
      open(): ResultAsync<AsyncIterable<Uint8Array>, ControlPlaneError>;
    };

/** The source that the declaration names: 404 where it is an object that is not there. */
export const locateSource = async (
  context: Context,
  principal: Principal,
  { source }: DeployDeclaration,
  received: Source | undefined,
  options: CallOptions,
): Promise<Result<LocatedSource, ControlPlaneError>> => {
  if (source?.kind === "object") {
    const opened = await openSourceObject(context, principal, source, options);
    return opened.map((open) => ({ kind: "object", words: `${source.volume}/${source.path}`, open }));
  }
  return received === undefined
    ? err(internal("A deploy was declared with an archive that was not received."))
    : ok({ kind: "received", source: received });
};

const failureOf = (words: string, issues: readonly Issue[]): DeployFailure => ({
  reason: issues.some(({ type }) => type === "too_large") ? "archive_too_large" : "archive_invalid",
  message: `${words}: ${issues.map(({ message }) => message).join("; ")}`,
});

/** What comes when nobody waits for it any more is not kept. */
const discardLate = async ({ logger }: Ports, source: Source): Promise<void> => {
  try {
    await source.discard();
  } catch (cause) {
    logger.warn("a source that came late was not discarded", { cause });
  }
};

const failureOfFetch = (words: string, error: ControlPlaneError): DeployFailure =>
  error.kind === "not_found"
    ? { reason: "volume_unavailable", message: `${words}: ${error.message} It was deleted meanwhile.` }
    : { reason: "provider_unavailable", message: `${words}: ${error.message} Deploy again.` };

/** Brings the source here, within the time of a build; one that was sent is here already. */
export const fetchSource = async (
  ports: Ports,
  { buildDeadline }: DeployLimits,
  run: RunningDeploy,
  given: LocatedSource,
): Promise<PhaseResult<Source>> => {
  if (given.kind === "received") return { ok: true, value: given.source };
  const { words } = given;
  run.emit(building(`Fetching the source '${words}'`));
  const fetch = async (signal: AbortSignal) => {
    const received = await given
      .open()
      .andThen((bytes) => ports.provider.spool.receive(bytes, { signal, fileBytes: sourceObjectBytes }));
    if (!signal.aborted) return received;
    if (received.isOk() && received.value.kind === "kept") await discardLate(ports, received.value.source);
    return undefined;
  };
  const received = await withinDeadline(ports.clock, buildDeadline, fetch, run.signal);
  if (received === undefined) {
    if (run.signal.aborted) return fail(endedEarly(run));
    const message = `${words}: fetching it took longer than ${formatDuration(buildDeadline)} and was ended.`;
    return fail({ reason: "build_timeout", message });
  }
  if (received.isErr()) return fail(run.signal.aborted ? endedEarly(run) : failureOfFetch(words, received.error));
  if (received.value.kind === "kept") return { ok: true, value: received.value.source };
  return fail(failureOf(words, received.value.issues));
};
