/**
 * Secret Manager's REST API: https://docs.cloud.google.com/secret-manager/docs/reference/rest, with the rules of
 * google/cloud/secretmanager/v1/resources.proto and service.proto.
 */
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { Faults } from "../../faults.ts";
import { type AdverseBehaviors, noneAdverse, PROPAGATION_MS, SECRET_LATE_MS } from "../adverse.ts";
import type { FakeIam } from "../iam.ts";
import { RestError, type RestMethod, type RestRequest, type RestServer, serveRest } from "../rest-server.ts";
import { PROJECT_NUMBER } from "../test-project.ts";

const ACCESSOR = "roles/secretmanager.secretAccessor";
const MAX_VALUE_BYTES = 64 * 1024;
const MAX_ANNOTATION_BYTES = 16 * 1024;

type TextMap = Readonly<Record<string, string>>;

interface Version {
  readonly createTime: string;
  /** Undefined once the version is destroyed. */
  value: Buffer | undefined;
}

interface Binding {
  readonly role: string;
  readonly members: readonly string[];
}

interface Secret {
  readonly id: string;
  readonly labels: TextMap;
  /** In milliseconds since the epoch. */
  readonly createdAt: number;
  annotations: TextMap;
  etag: string;
  readonly versions: Version[];
  policy: { readonly etag: string; readonly bindings: readonly Binding[] };
  /** When each member got the role, in milliseconds since the epoch. */
  readonly grantedAt: Map<string, number>;
}

export interface FakeSecretsDeps {
  readonly iam: FakeIam;
  readonly clock: Pick<Clock, "now">;
  readonly adverse?: AdverseBehaviors;
}

const invalid = (message: string): RestError => new RestError(400, "badRequest", message);
const notFound = (what: string): RestError => new RestError(404, "notFound", `${what} not found or has no versions.`);

const checkAnnotations = (annotations: TextMap): void => {
  for (const key of Object.keys(annotations))
    if (!/^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?$/.test(key)) throw invalid(`annotations: '${key}'`);
  if (Buffer.byteLength(Object.entries(annotations).flat().join("")) >= MAX_ANNOTATION_BYTES)
    throw invalid("annotations: must be less than 16KiB");
};

const PATH = /^\/v1\/projects\/[^/]+\/secrets(?:\/([^/:]+))?(?:\/versions(?:\/(\d+))?)?(?::(\w+))?$/;

export class FakeSecrets {
  readonly faults = new Faults();
  /** "If the number is greater than 25000, it is capped at 25000": ListSecretVersionsRequest in service.proto. */
  maxPageSize = 25_000;
  readonly #secrets = new Map<string, Secret>();
  readonly #deps: FakeSecretsDeps;
  readonly #adverse: AdverseBehaviors;
  #counter = 0;
  #frozen: readonly Secret[] | undefined;
  /** The views of secrets whose reads do not show later writes, by id. */
  readonly #late = new Map<string, object>();

  constructor(deps: FakeSecretsDeps) {
    this.#deps = deps;
    this.#adverse = deps.adverse ?? noneAdverse;
  }

  open(): Promise<RestServer> {
    return serveRest({
      host: "secretmanager.googleapis.com",
      faults: this.faults,
      route: (request) => this.#route(request),
    });
  }

  /** The ids of the secrets, and the numbers of their versions that contain a value, for assertions. */
  contents(): Readonly<Record<string, readonly number[]>> {
    const numbersOf = ({ versions }: Secret) =>
      versions.flatMap(({ value }, at) => (value === undefined ? [] : [at + 1]));
    return Object.fromEntries([...this.#secrets.values()].map((secret) => [secret.id, numbersOf(secret)]));
  }

  /** From now on, lists do not show later writes: docs/reference/consistency. */
  freezeLists(): void {
    this.#frozen = [...this.#secrets.values()].map((secret) => ({ ...secret }));
  }

  /** From now on, reads of the existing secrets do not show later writes: docs/reference/consistency. */
  freezeReads(): void {
    for (const secret of this.#secrets.values()) this.#late.set(secret.id, this.#view(secret));
  }

  /** Removes the grants of a secret, as an operator would. */
  revoke(id: string): void {
    const secret = this.#find(id);
    secret.policy = { etag: this.#nextEtag(), bindings: [] };
    secret.grantedAt.clear();
  }

  /** Returns the value that an instance of a service account sees, or why Cloud Run does not start the instance. */
  resolve(email: string, id: string, version: string): { readonly value: string } | { readonly problem: string } {
    const place = `projects/${PROJECT_NUMBER}/secrets/${id}/versions/${version}`;
    const value = this.#secrets.get(id)?.versions[Number(version) - 1]?.value;
    const grantedAt = this.#secrets.get(id)?.grantedAt.get(`serviceAccount:${email}`);
    const isLate = this.#adverse.has("grant_late") && this.#now() - (grantedAt ?? 0) < PROPAGATION_MS;
    // The text is quoted in https://github.com/terraform-google-modules/terraform-docs-samples/pull/168.
    if (grantedAt === undefined || isLate)
      return { problem: `Permission denied on secret: ${place} for Revision service account ${email}.` };
    return value === undefined ? { problem: `Secret ${place} was not found.` } : { value: value.toString() };
  }

  #now(): number {
    return millisOf(this.#deps.clock.now());
  }

  #nextEtag(): string {
    return `"${++this.#counter}"`;
  }

  #route({ verb, url, body }: RestRequest): RestMethod | undefined {
    const [matched, id, version, action = ""] = PATH.exec(url.pathname) ?? [];
    const query = url.searchParams;
    if (matched === undefined) return undefined;
    const ofVersions = url.pathname.includes("/versions");
    const acts: Readonly<Record<string, () => object>> =
      id === undefined
        ? { "GET list": () => this.#list(query), "POST create": () => this.#create(query.get("secretId") ?? "", body) }
        : ofVersions
          ? {
              "GET versions.list": () => this.#versions(id, query),
              "GET versions.access": () => this.#access(id, Number(version)),
              "POST versions.destroy": () => this.#destroy(id, Number(version)),
            }
          : {
              "GET get": () => this.#late.get(id) ?? this.#view(this.#find(id)),
              "PATCH patch": () => this.#patch(id, query.get("updateMask") ?? "", body),
              "POST addVersion": () => this.#addVersion(id, body),
              "GET getIamPolicy": () => this.#visible(id).policy,
              "POST setIamPolicy": () => this.#setPolicy(id, body.policy),
            };
    const plain: Readonly<Record<string, string>> = { GET: "get", POST: "create", PATCH: "patch" };
    const listed = id === undefined || (ofVersions && version === undefined);
    const name = action || (listed && verb === "GET" ? "list" : plain[verb]);
    const method = ofVersions ? `versions.${name}` : `${name}`;
    const act = acts[`${verb} ${method}`];
    return act && { method: `secrets.${method}`, act };
  }

  #find(id: string): Secret {
    const secret = this.#secrets.get(id);
    if (secret === undefined) throw notFound(`Secret [projects/${PROJECT_NUMBER}/secrets/${id}]`);
    return secret;
  }

  #view({ id, labels, annotations, etag }: Secret): object {
    return { name: `projects/${PROJECT_NUMBER}/secrets/${id}`, labels, annotations, etag };
  }

  /** https://docs.cloud.google.com/secret-manager/docs/filtering */
  #list(query: URLSearchParams): object {
    const filter = query.get("filter");
    const [, key = "", value] = /^labels\.([a-z-]+)=([a-z0-9-]+)$/.exec(filter ?? "") ?? [];
    if (filter !== null && value === undefined) throw invalid(`filter: '${filter}'`);
    const all = (this.#frozen ?? [...this.#secrets.values()]).filter(
      ({ labels }) => filter === null || labels[key] === value,
    );
    const from = Number(query.get("pageToken") ?? 0);
    const to = from + Number(query.get("pageSize") ?? 100);
    const secrets = all.slice(from, to).map((secret) => this.#view(secret));
    return to < all.length ? { secrets, nextPageToken: String(to) } : { secrets };
  }

  #create(id: string, { labels = {}, replication }: { labels?: TextMap; replication?: object }): object {
    if (!/^[a-zA-Z0-9_-]{1,255}$/.test(id)) throw invalid("secretId");
    if (replication === undefined) throw invalid("replication: is required");
    if (this.#secrets.has(id)) throw new RestError(409, "alreadyExists", `Secret [${id}] already exists.`);
    const policy = { etag: this.#nextEtag(), bindings: [] };
    const [createdAt, etag] = [this.#now(), this.#nextEtag()];
    const secret = { id, labels, createdAt, annotations: {}, etag, versions: [], policy, grantedAt: new Map() };
    this.#secrets.set(id, secret);
    return this.#view(secret);
  }

  #patch(id: string, mask: string, { annotations = {}, etag }: { annotations?: TextMap; etag?: string }): object {
    const secret = this.#find(id);
    if (mask !== "annotations") throw invalid(`updateMask: '${mask}'`);
    // Assumption: a stale etag is FAILED_PRECONDITION, which is 400 (https://google.aip.dev/193).
    if (etag !== undefined && etag !== secret.etag) throw invalid("The etag does not match the current one.");
    checkAnnotations(annotations);
    Object.assign(secret, { annotations, etag: this.#nextEtag() });
    return this.#view(secret);
  }

  #addVersion(id: string, { payload }: { payload?: { data?: string } }): object {
    const secret = this.#find(id);
    const value = Buffer.from(payload?.data ?? "", "base64");
    if (value.length === 0 || value.length > MAX_VALUE_BYTES) throw invalid("payload.data: 1 byte to 64KiB");
    const version = { createTime: new Date(this.#now()).toISOString(), value };
    secret.versions.push(version);
    secret.etag = this.#nextEtag();
    const name = `projects/${PROJECT_NUMBER}/secrets/${id}/versions/${secret.versions.length}`;
    return { name, createTime: version.createTime, state: "ENABLED" };
  }

  #version(id: string, version: number): Version {
    const found = this.#find(id).versions[version - 1];
    if (found === undefined)
      throw notFound(`Secret Version [projects/${PROJECT_NUMBER}/secrets/${id}/versions/${version}]`);
    return found;
  }

  #versions(id: string, query: URLSearchParams): object {
    if (query.get("filter") !== "state:ENABLED") throw invalid(`filter: '${query.get("filter")}'`);
    const name = `projects/${PROJECT_NUMBER}/secrets/${id}/versions`;
    const enabled = this.#find(id).versions.flatMap(({ value, createTime }, at) =>
      value === undefined ? [] : [{ name: `${name}/${at + 1}`, createTime, state: "ENABLED" }],
    );
    const from = Number(query.get("pageToken") ?? 0);
    const to = from + Math.min(Number(query.get("pageSize") ?? 100), this.maxPageSize);
    const versions = enabled.slice(from, to);
    return to < enabled.length ? { versions, nextPageToken: String(to) } : { versions };
  }

  #access(id: string, version: number): object {
    const { value } = this.#version(id, version);
    if (value === undefined) throw invalid("The secret version is in DESTROYED state.");
    return { payload: { data: value.toString("base64") } };
  }

  #destroy(id: string, version: number): object {
    const found = this.#version(id, version);
    if (found.value === undefined) throw invalid("The secret version is in DESTROYED state.");
    found.value = undefined;
    return { state: "DESTROYED" };
  }

  /** Finds a secret for the calls that may not see a new one. */
  #visible(id: string): Secret {
    const secret = this.#find(id);
    if (this.#adverse.has("secret_late") && this.#now() - secret.createdAt < SECRET_LATE_MS)
      throw notFound(`Secret [projects/${PROJECT_NUMBER}/secrets/${id}]`);
    return secret;
  }

  #setPolicy(id: string, { bindings = [], etag }: { bindings?: readonly Binding[]; etag?: string }): object {
    const secret = this.#visible(id);
    if (etag !== undefined && etag !== secret.policy.etag)
      throw new RestError(409, "aborted", "There were concurrent policy changes.");
    const members = bindings.filter(({ role }) => role === ACCESSOR).flatMap((one) => one.members);
    for (const member of members)
      if (!this.#deps.iam.acts(member.replace("serviceAccount:", "")))
        throw invalid(`Service account ${member} does not exist.`);
    for (const member of secret.grantedAt.keys()) if (!members.includes(member)) secret.grantedAt.delete(member);
    for (const member of members) if (!secret.grantedAt.has(member)) secret.grantedAt.set(member, this.#now());
    secret.policy = { etag: this.#nextEtag(), bindings };
    return secret.policy;
  }
}
