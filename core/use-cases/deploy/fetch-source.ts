/** Provides the source of a deploy: an archive from the request, or an object that the deploy fetches from a volume. */
import { sourceObjectBytes } from "../../domain/accounts/limits.ts";
import type { DeployDeclaration } from "../../domain/deploy/declaration.ts";
import { building } from "../../domain/deploy/events.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import type { Issue } from "../../domain/wire/issue.ts";
import { type ControlPlaneError, internal } from "../../errors.ts";
import type { Source } from "../../ports/source-spool.ts";
import { err, ok, type Result } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import type { Caller } from "../pipeline/use-case.ts";
import { withinDeadline } from "../pipeline/within-deadline.ts";
import { findSourceObject } from "../volumes/objects.ts";
import { type DeployContext, endedEarly, formatDuration, type LocatedSource, type PhaseResult } from "./phase.ts";

/** Returns the source that the declaration names. Fails with `not_found` if the source is a missing object. */
export const locateSource = async (
  caller: Caller,
  { source }: DeployDeclaration,
  received: Source | undefined,
): Promise<Result<LocatedSource, ControlPlaneError>> => {
  if (source?.kind === "object") {
    const opened = await findSourceObject(caller, source);
    return opened.map((open) => ({ kind: "object", reference: `${source.volume}/${source.path}`, open }));
  }
  return received === undefined
    ? err(internal("A deploy was declared with an archive that was not received."))
    : ok({ kind: "received", source: received });
};

const failureOfArchive = (reference: string, issues: readonly Issue[]): DeployFailure => ({
  reason: issues.some(({ type }) => type === "too_large") ? "archive_too_large" : "archive_invalid",
  message: `${reference}: ${issues.map(({ message }) => message).join("; ")}`,
});

/** Discards a source. Logs a failure instead of returning it, because the client cannot act on it. */
export const discardSource = async ({ ports }: Pick<Context, "ports">, source: Source | undefined): Promise<void> => {
  try {
    await source?.discard();
  } catch (cause) {
    ports.logger.warn("a source was not discarded", { cause });
  }
};

const failureOfFetch = (reference: string, error: ControlPlaneError): DeployFailure =>
  error.kind === "not_found"
    ? { reason: "volume_unavailable", message: `${reference}: ${error.message} It was deleted after the deploy began.` }
    : { reason: "provider_unavailable", message: `${reference}: ${error.message} Deploy again.` };

/** Fetches the source within the deadline of a build. An archive from the request needs no fetch. */
export const fetchSource = async ({ ports, settings, run, located }: DeployContext): Promise<PhaseResult<Source>> => {
  if (located.kind === "received") return ok(located.source);
  const { reference } = located;
  const { buildDeadlineMs } = settings.deployLimits;
  run.emit(building(`Fetching the source '${reference}'`));
  const fetch = async (signal: AbortSignal) => {
    const received = await located
      .open()
      .andThen((bytes) => ports.provider.spool.receive(bytes, { signal, fileBytes: sourceObjectBytes }));
    if (!signal.aborted) return received;
    // The caller has stopped waiting for the source.
    if (received.isOk() && received.value.kind === "accepted") await discardSource({ ports }, received.value.source);
    return undefined;
  };
  const received = await withinDeadline(ports.clock, buildDeadlineMs, fetch, run.signal);
  if (received === undefined) {
    if (run.signal.aborted) return err(endedEarly(run));
    const message = `Fetching the source '${reference}' took longer than ${formatDuration(buildDeadlineMs)} and was stopped. Deploy again.`;
    return err({ reason: "build_timeout", message });
  }
  if (received.isErr()) return err(run.signal.aborted ? endedEarly(run) : failureOfFetch(reference, received.error));
  return received.value.kind === "accepted"
    ? ok(received.value.source)
    : err(failureOfArchive(reference, received.value.issues));
};
