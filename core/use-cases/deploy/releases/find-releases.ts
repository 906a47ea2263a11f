/** Reads the releases of a deployment. */
import type { StoredRelease } from "../../../domain/deploy/releases/release.ts";
import type { Service } from "../../../domain/deploy/service-template.ts";
import { type ControlPlaneError, internal, notFound } from "../../../errors.ts";
import { errAsync, type ResultAsync } from "../../../result.ts";
import type { Caller } from "../../pipeline/use-case.ts";

/**
 * Returns the releases of the caller's service, newest first.
 * @param newest the number of releases to return; defaults to all
 */
export const findReleases = (
  { context, options }: Caller,
  { name, owner }: Service,
  newest?: number,
): ResultAsync<readonly StoredRelease[], ControlPlaneError> =>
  context.ports.provider.services.releases?.(
    { name, owner },
    newest === undefined ? options : { ...options, newest },
  ) ?? errAsync(internal("The provider declares the capability `releases`, but has no method `releases`."));

export const noRelease = (name: string, release: number): ControlPlaneError =>
  notFound(`The deployment '${name}' has no release ${release}. Run 'portside releases ${name}' to list them.`);
