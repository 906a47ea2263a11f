/** The use cases that list and compare the releases of a deployment. */
import type { z } from "zod";
import { diffReleases, type ReleaseDiff } from "../../../domain/deploy/releases/diff.ts";
import { type releasePageSchema, releaseRowOf, type StoredRelease } from "../../../domain/deploy/releases/release.ts";
import { releaseDiffFields, releasesFields } from "../../../domain/wire/requests.ts";
import { type ControlPlaneError, notFound } from "../../../errors.ts";
import { err, ok, type Result, safeTry } from "../../../result.ts";
import { useCase } from "../../pipeline/use-case.ts";
import { ownService } from "../find-name.ts";
import { findReleases, noRelease } from "./find-releases.ts";

/** A page of a deployment's releases, newest first. */
export type ReleasePage = z.output<typeof releasePageSchema>;

/** Lists the releases of a deployment, newest first. */
export const listReleases = useCase({
  fields: releasesFields,
  requires: ({ releases }) => releases,
  authorize: (call) => ownService(call, call.input.name),
  run: (call, service) => {
    const { limit, page_token: before } = call.input;
    return findReleases(call, service).map((all): ReleasePage => {
      const rest = all.filter(({ release }) => before == null || release < before);
      const page = rest.slice(0, limit);
      const serving = service.serving[0]?.id ?? null;
      return {
        releases: page.map((one) => releaseRowOf(one, serving)),
        next_page_token: rest.length > page.length ? String(page.at(-1)?.release) : null,
      };
    });
  },
});

/** Returns the release with the number, or the newest one that precedes `before`. */
const pick = (
  name: string,
  releases: readonly StoredRelease[],
  number: number | null | undefined,
  before = Number.POSITIVE_INFINITY,
): Result<StoredRelease, ControlPlaneError> => {
  if (number != null) {
    const named = releases.find(({ release }) => release === number);
    return named === undefined ? err(noRelease(name, number)) : ok(named);
  }
  const newest = releases.find(({ release }) => release < before);
  if (newest !== undefined) return ok(newest);
  const [which, fix] =
    releases.length === 0
      ? ["no release", "Deploy it first."]
      : [`no release before ${before}`, "Deploy again, or pass another release."];
  return err(notFound(`The deployment '${name}' has ${which}, so there is nothing to compare. ${fix}`));
};

/** Compares two releases of a deployment. */
export const compareReleases = useCase({
  fields: releaseDiffFields,
  requires: ({ releases }) => releases,
  authorize: (call) => ownService(call, call.input.name),
  run: (call, service) =>
    safeTry(async function* () {
      const releases = yield* await findReleases(call, service);
      const { name, from, to } = call.input;
      const later = yield* pick(name, releases, to);
      const earlier = yield* pick(name, releases, from, later.release);
      return ok<ReleaseDiff>(diffReleases(earlier, later));
    }),
});
