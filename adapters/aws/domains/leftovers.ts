/**
 * Deletes failed certificates and the certificates of removed domains. A load balancer may use a certificate for some
 * time after its removal from the listener, so a deletion can fail and is retried. Also removes domains from the rules
 * of former deployments if that failed before.
 */
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import type { Unavailable } from "../../../core/errors.ts";
import { ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { backoff } from "../../cloud/calls/backoff.ts";
import { type AwsRuntimeDeps, isState, type RetryOptions, throwState } from "../call-policy.ts";
import { claimed, type DomainObject, GRACE_MS, hasLeftovers } from "./domain-object.ts";
import { clearFormerRoutes } from "./routes.ts";
import { detach, type ServeDeps } from "./serve-domain.ts";

export interface Leftovers {
  /**
   * Deletes the unused certificates of a domain in the background, and removes the domain from the rules of former
   * deployments. Retries a few times, because a certificate may still be in use.
   */
  start(domain: DomainName): void;
  /** Does the same for all domains with leftovers. Runs at start. */
  startAll(options?: RetryOptions): ResultAsync<void, Unavailable>;
  /** Cancels pending retries, and resolves when the running work has ended. The next start resumes the work. */
  close(): Promise<void>;
}

/** Maximum attempts of one call of `start`. The next start of the server tries again. */
const TRIES = 6;
const MAX_PAUSE_MS = 30 * 60_000;
const PAUSE_GROWTH = 2;

const isCleared = (object: DomainObject | null): boolean =>
  object === null || (!hasLeftovers(object) && (object.removedAt === null || object.certificate === null));

/**
 * Removes the mark, and returns true. If another call has marked the domain and written the object since it was read,
 * restores the mark and returns false.
 */
const unmark = (
  { objects }: Pick<ServeDeps, "objects">,
  domain: DomainName,
  retry: RetryOptions,
): ResultAsync<boolean, Unavailable> =>
  safeTry(async function* () {
    yield* await objects.unmark(domain, retry);
    if (isCleared(yield* await objects.read(domain, retry))) return ok(true);
    return objects.mark(domain, retry).map(() => false);
  });

/** Deletes the leftovers that AWS no longer uses. Returns true if no leftovers remain. */
export const clearLeftovers = (
  deps: ServeDeps,
  domain: DomainName,
  retry: RetryOptions = {},
): ResultAsync<boolean, Unavailable> =>
  safeTry(async function* () {
    const { objects, certificates, clock } = deps;
    const claim = (found: Parameters<typeof claimed>[0] | null) =>
      ok(found === null ? null : claimed(found, clock.now()));
    const object = yield* await objects.update<never>(domain, claim, retry);
    if (object === null) return unmark(deps, domain, retry);
    yield* await clearFormerRoutes(deps, object, retry);
    const deleted = new Set<string>();
    for (const { arn, listeners } of object.leftovers) {
      yield* await detach(deps, arn, listeners, retry);
      const removed = await certificates.remove(arn, retry);
      if (isState(removed, "changed")) continue;
      yield* removed.mapErr(throwState);
      deleted.add(arn);
    }
    const forget = (found: typeof object | null) =>
      ok(
        found === null || deleted.size === 0
          ? found
          : { ...found, leftovers: found.leftovers.filter(({ arn }) => !deleted.has(arn)) },
      );
    const left = yield* await objects.update<never>(domain, forget, retry);
    return isCleared(left) ? unmark(deps, domain, retry) : ok(false);
  });

export const createLeftovers = (deps: ServeDeps, { clock, logger }: AwsRuntimeDeps): Leftovers => {
  const ending = new AbortController();
  const running = new Map<DomainName, Promise<void>>();
  /** The domains for which `start` was called again while their work was running. */
  const restarted = new Set<DomainName>();

  const work = async (domain: DomainName, isMarked: boolean): Promise<void> => {
    const { signal } = ending;
    let tries = 0;
    // The work for an earlier removal may have deleted the mark before the object was written.
    const marked = isMarked ? ok(undefined) : await deps.objects.mark(domain, { signal });
    if (marked.isErr() && !signal.aborted)
      logger.warn("could not mark a domain for the clean-up", { domain, cause: marked.error });
    for (const pause of backoff(GRACE_MS, MAX_PAUSE_MS, PAUSE_GROWTH)) {
      await clock.sleep(pause, signal);
      if (signal.aborted) return;
      const cleared = await clearLeftovers(deps, domain, { signal });
      if (cleared.isOk() && cleared.value) return;
      tries += 1;
      if (tries < TRIES) continue;
      logger.warn("the clean-up of a domain's certificates and routes did not finish; the next start retries it", {
        domain,
      });
      return;
    }
  };

  const start = (domain: DomainName, isMarked = false): void => {
    if (ending.signal.aborted) return;
    if (running.has(domain)) {
      restarted.add(domain);
      return;
    }
    const done = work(domain, isMarked)
      .catch((error: unknown) =>
        logger.error("the clean-up of a domain's certificates and routes failed", { domain, error }),
      )
      .finally(() => {
        running.delete(domain);
        if (restarted.delete(domain)) start(domain);
      });
    running.set(domain, done);
  };

  const startMarked = (domain: DomainName): void => start(domain, true);

  return {
    start: (domain) => start(domain),
    startAll: (options) => deps.objects.marked(options).map((domains) => domains.forEach(startMarked)),
    close: async () => {
      ending.abort();
      await Promise.all(running.values());
    },
  };
};
