/**
 * Keeps the images of releases in Artifact Registry. Each image has a tag for each deployment that may roll back to it,
 * and the operator's clean-up policy keeps images with such a tag. "If an artifact version matches criteria in both a
 * delete policy and a keep policy, Artifact Registry applies the keep policy":
 * https://docs.cloud.google.com/artifact-registry/docs/repositories/cleanup-policy-overview
 */

import type { ReleasedService } from "../../../../core/domain/deploy/releases/release.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import { ok, ResultAsync, safeTry } from "../../../../core/result.ts";
import { type CallState, isCallState } from "../../../cloud/calls/provider-call.ts";
import { callOptions, type GoogleRuntimeDeps, googleCalls } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import { imageAt, imageDigestIn, packageNameOf, type RepositoryConfig } from "../build/names.ts";
import { ifAbsent, type RetryOptions } from "../services.ts";

/** The prefix in the clean-up policy of docs/providers/gcp.md. */
export const KEEP_PREFIX = "keep-";
/** "Maximum page size is 1,000": tag.proto. */
const PAGE_SIZE = 1000;

/** A tag has at most 128 characters: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests */
const tagOf = (name: DeploymentName, digest: string): string =>
  `${KEEP_PREFIX}${name}-${digest.replace("sha256:", "")}`;

/** Returns the digest of a tag that `tagOf` returned for the deployment. */
const digestOf = (name: DeploymentName, tag: string): string | undefined => {
  const start = `${KEEP_PREFIX}${name}-`;
  const hex = tag.startsWith(start) ? tag.slice(start.length) : "";
  return /^[0-9a-f]{64}$/.test(hex) ? `sha256:${hex}` : undefined;
};

export type KeptImages = ReturnType<typeof createKeptImages>;

export const createKeptImages = (config: RepositoryConfig, clients: ClientSource, runtime: GoogleRuntimeDeps) => {
  const call = googleCalls(runtime);

  const listTags = ({ owner, name }: ReleasedService, retry: RetryOptions) =>
    safeTry<ReadonlySet<string>, CallState | Unavailable>(async function* () {
      const parent = packageNameOf(config, owner);
      const filter = `name="${parent}/tags/${tagOf(name, "*")}"`;
      const digests = new Set<string>();
      let pageToken = "";
      do {
        const { found, next } = yield* await call({ what: "artifactregistry.tags.list", ...retry }, async () => {
          const client = await clients("registry");
          const request = { parent, filter, pageSize: PAGE_SIZE, pageToken };
          const options = { ...callOptions(retry.signal), autoPaginate: false };
          const [found, , response] = await client.listTags(request, options);
          return { found, next: response?.nextPageToken ?? "" };
        });
        for (const tag of found) {
          const digest = digestOf(name, tag.name?.split("/tags/").at(-1) ?? "");
          if (digest !== undefined) digests.add(digest);
        }
        pageToken = next;
      } while (pageToken !== "");
      return ok(digests);
    }).orElse(ifAbsent<ReadonlySet<string>>(new Set()));

  const create = ({ owner, name }: ReleasedService, digest: string, retry: RetryOptions) =>
    call({ what: "artifactregistry.tags.create", ...retry }, async () => {
      const client = await clients("registry");
      const parent = packageNameOf(config, owner);
      const [tagId, version] = [tagOf(name, digest), `${parent}/versions/${digest}`];
      await client.createTag(
        { parent, tagId, tag: { name: `${parent}/tags/${tagId}`, version } },
        callOptions(retry.signal),
      );
    });

  const remove = ({ owner, name }: ReleasedService, digest: string, retry: RetryOptions) =>
    call({ what: "artifactregistry.tags.delete", ...retry }, async () => {
      const client = await clients("registry");
      await client.deleteTag(
        { name: `${packageNameOf(config, owner)}/tags/${tagOf(name, digest)}` },
        callOptions(retry.signal),
      );
    });

  const isPresent = ({ owner }: ReleasedService, digest: string, retry: RetryOptions) =>
    new ResultAsync(
      call({ what: "artifactregistry.versions.get", ...retry }, async () => {
        const client = await clients("registry");
        await client.getVersion(
          { name: `${packageNameOf(config, owner)}/versions/${digest}` },
          callOptions(retry.signal),
        );
        return true;
      }),
    ).orElse(ifAbsent(false));

  /** Returns the images as digests. Omits images that are not in the account's package of the repository. */
  const digestsOf = ({ owner }: ReleasedService, images: Iterable<string>): ReadonlySet<string> =>
    new Set([...images].flatMap((image) => imageDigestIn(config, owner, image) ?? []));

  return {
    /** Returns the digests of the images that have a tag for the deployment. */
    tagged: listTags,

    /**
     * Tags the images that a deployment keeps, and removes the other tags in `tagged`. The caller must read `tagged`
     * before it determines the images. Otherwise, this call may remove the tag of a newer release. If a call to
     * Artifact Registry fails, `keep` fails too, and its next call for the deployment repairs the tags.
     */
    keep: (service: ReleasedService, images: Iterable<string>, tagged: ReadonlySet<string>, retry: RetryOptions) =>
      safeTry<void, CallState | Unavailable>(async function* () {
        const wanted = digestsOf(service, images);
        const results = await Promise.all([
          ...[...wanted].filter((one) => !tagged.has(one)).map((one) => create(service, one, retry)),
          ...[...tagged].filter((one) => !wanted.has(one)).map((one) => remove(service, one, retry)),
        ]);
        // Another process has created or removed the tag, or the image was deleted.
        for (const result of results)
          if (result.isErr() && !(isCallState(result.error) && ["exists", "not_found"].includes(result.error.code)))
            yield* result;
        return ok(undefined);
      }),

    /** Returns the images that do not exist. */
    absent: (service: ReleasedService, images: Iterable<string>, retry: RetryOptions) =>
      safeTry<ReadonlySet<string>, Unavailable>(async function* () {
        const wanted = digestsOf(service, images);
        const tagged = yield* await listTags(service, retry);
        const unsure = [...wanted].filter((one) => !tagged.has(one));
        const found = yield* await ResultAsync.combine(unsure.map((one) => isPresent(service, one, retry)));
        const gone = unsure.filter((_, at) => !found[at]);
        return ok(new Set(gone.map((digest) => imageAt(config, service.owner, digest))));
      }),
  };
};
