/** Tags and versions of Artifact Registry: google/devtools/artifactregistry/v1/tag.proto, version.proto. */
import { createHash } from "node:crypto";
import { Faults } from "../faults.ts";
import { GrpcError, type GrpcServer, type Message, serveGrpc } from "./grpc.ts";

const REFERENCE = /^([a-z0-9-]+)-docker\.pkg\.dev\/([^/]+)\/([^/]+)\/([^:@]+)(?::([^:/]+)|@(sha256:[0-9a-f]{64}))$/;

/**
 * `REGION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG` is a tag of a package, and `...@DIGEST` a version. Slashes in the
 * name of the package are escaped.
 */
const nameOf = (reference: string): string | undefined => {
  const [, region, project, repository, image = "", tag, digest] = REFERENCE.exec(reference) ?? [];
  if (region === undefined) return undefined;
  const within = `projects/${project}/locations/${region}/repositories/${repository}`;
  const parent = `${within}/packages/${encodeURIComponent(image)}`;
  return tag === undefined ? `${parent}/versions/${digest}` : `${parent}/tags/${tag}`;
};

const notFound = (): GrpcError => new GrpcError("NOT_FOUND", "Requested entity was not found.");

/** https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests */
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;

export class FakeRegistry {
  readonly faults = new Faults();
  /** The names of versions, by the names of tags. */
  readonly #tags = new Map<string, string>();
  /** The names of images in the fake Cloud Run's engine, by the names of versions. */
  readonly #versions = new Map<string, string>();

  push(reference: string, engineImage: string): string {
    const name = nameOf(reference);
    if (name === undefined) throw new Error(`Invalid image reference: ${reference}`);
    const digest = `sha256:${createHash("sha256").update(`${reference} ${engineImage}`).digest("hex")}`;
    const version = `${name.split("/tags/")[0]}/versions/${digest}`;
    this.#versions.set(version, engineImage);
    this.#tags.set(name, version);
    return digest;
  }

  resolve(reference: string): string | undefined {
    const name = nameOf(reference) ?? "";
    return this.#versions.get(this.#tags.get(name) ?? name);
  }

  /** The tags of an image, sorted. */
  tagsOf(reference: string): string[] {
    const version = nameOf(reference);
    const names = [...this.#tags].filter(([, tagged]) => tagged === version).map(([name]) => name);
    return names.map((name) => name.split("/tags/")[1] ?? "").sort();
  }

  /** Deletes all images except those with a tag of this prefix, as a clean-up policy does. */
  cleanUp(keptPrefix: string): void {
    const kept = new Set(
      [...this.#tags].filter(([name]) => name.split("/tags/")[1]?.startsWith(keptPrefix)).map(([, version]) => version),
    );
    for (const version of this.#versions.keys()) if (!kept.has(version)) this.#delete(version);
  }

  #delete(version: string): void {
    this.#versions.delete(version);
    for (const [name, tagged] of this.#tags) if (tagged === version) this.#tags.delete(name);
  }

  async open(): Promise<GrpcServer> {
    const ArtifactRegistry = {
      GetTag: ({ name }: Message) => this.#tag(name),
      ListTags: (request: Message) => this.#list(request),
      CreateTag: (request: Message) => this.#create(request),
      DeleteTag: ({ name }: Message) => {
        if (!this.#tags.delete(name)) throw notFound();
        return {};
      },
      GetVersion: ({ name }: Message) => {
        if (!this.#versions.has(name)) throw notFound();
        return { name };
      },
    };
    const services = { "google.devtools.artifactregistry.v1.ArtifactRegistry": ArtifactRegistry };
    return serveGrpc("@google-cloud/artifact-registry", services, this.faults);
  }

  #tag(name: string): Message {
    const version = this.#tags.get(name);
    if (version === undefined) throw notFound();
    return { name, version };
  }

  /** "You can also use wildcards to match any number of characters before or after the value": tag.proto. */
  #list({ parent, filter, pageSize, pageToken }: Message): Message {
    // A package exists once it has a version.
    if (![...this.#versions.keys()].some((name) => name.startsWith(`${parent}/`))) throw notFound();
    const [, pattern] = /^name="([^"]+)"$/.exec(filter) ?? [];
    if (filter && pattern === undefined) throw new GrpcError("INVALID_ARGUMENT", `filter: '${filter}'`);
    const parts = (pattern ?? "*").split("*").map((part) => part.replaceAll(/[.\\+?^$()[\]{}|]/g, "\\$&"));
    const expression = new RegExp(`^${parts.join(".*")}$`, "i");
    const all = [...this.#tags.keys()].filter((name) => name.startsWith(`${parent}/tags/`) && expression.test(name));
    const from = Number(pageToken || 0);
    const to = from + Math.min(pageSize || 100, 1000);
    const tags = all.slice(from, to).map((name) => this.#tag(name));
    return { tags, nextPageToken: to < all.length ? String(to) : "" };
  }

  #create({ parent, tagId, tag }: Message): Message {
    if (!TAG.test(tagId)) throw new GrpcError("INVALID_ARGUMENT", `tag_id: '${tagId}'`);
    if (!this.#versions.has(tag.version)) throw notFound();
    const name = `${parent}/tags/${tagId}`;
    if (this.#tags.has(name)) throw new GrpcError("ALREADY_EXISTS", "Requested entity already exists.");
    this.#tags.set(name, tag.version);
    return this.#tag(name);
  }
}
