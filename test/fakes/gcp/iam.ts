/**
 * Service accounts of IAM's REST API: https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts.
 * The fields and the messages of 404 and 409 are from traffic that GoogleCloudPlatform/k8s-config-connector recorded:
 * `pkg/test/resourcefixture/testdata/basic` (`iam/v1beta1/iamserviceaccount/iamserviceaccount/_http.log`,
 * `composer/v1beta1/composerenvironment/composerenvironmentbasic/_http.log`).
 */
import { createHash } from "node:crypto";
import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { Faults } from "../faults.ts";
import { type AdverseBehaviors, noneAdverse, PROPAGATION_MS } from "./adverse.ts";
import { RestError, type RestServer, serveRest } from "./rest-server.ts";

interface Account {
  readonly email: string;
  readonly displayName: string;
  readonly description: string;
  /** Number of reads that still do not see the account. */
  hidden: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Reads of a new account flap with this period, in milliseconds. */
const FLAP_MS = 3000;

/** 21 digits. */
const uniqueIdOf = (email: string): string => {
  const digest = createHash("sha256").update(email).digest();
  return `1${String(digest.readBigUInt64BE()).padStart(20, "0")}`;
};

/** The recorded fields. The name has the account's project, even if the request has `-`; empty strings are omitted. */
const resourceOf = ({ email, displayName, description }: Account): object => {
  const projectId = email.slice(email.indexOf("@") + 1, -".iam.gserviceaccount.com".length);
  const uniqueId = uniqueIdOf(email);
  return {
    name: `projects/${projectId}/serviceAccounts/${email}`,
    projectId,
    uniqueId,
    email,
    displayName: displayName || undefined,
    etag: Buffer.from(`${displayName}\n${description}`).toString("base64"),
    description: description || undefined,
    oauth2ClientId: uniqueId,
  };
};

const PATH = /^\/v1\/projects\/([^/]+)\/serviceAccounts(?:\/([^/]+))?$/;

export class FakeIam {
  readonly faults = new Faults();
  readonly accounts = new Map<string, Account>();
  /** "You might need to wait for 60 seconds or more before you use it": iam/docs/service-accounts-create. */
  readsUntilVisible = 0;
  /** "By default, each project can have up to 100 service accounts": the same page. */
  maxAccounts = 100;
  readonly #adverse: AdverseBehaviors;
  readonly #clock: Pick<Clock, "now">;

  constructor(adverse: AdverseBehaviors = noneAdverse, clock: Pick<Clock, "now"> = createSystemClock()) {
    this.#adverse = adverse;
    this.#clock = clock;
  }

  /** Whether the account exists and may act. */
  acts(email: string): boolean {
    const account = this.accounts.get(email);
    return account !== undefined && !(this.#adverse.has("identity_late") && this.#ageOf(account) < PROPAGATION_MS);
  }

  #ageOf({ createdAt }: Account): number {
    return millisOf(this.#clock.now()) - createdAt;
  }

  open(): Promise<RestServer> {
    return serveRest({
      host: "iam.googleapis.com",
      faults: this.faults,
      route: ({ verb, url, body }) => {
        const [, project = "", email] = PATH.exec(url.pathname) ?? [];
        if (verb === "GET" && email !== undefined)
          return { method: "iam.get", act: () => this.#get(decodeURIComponent(email)) };
        if (verb === "POST" && email === undefined && project !== "")
          return { method: "iam.create", act: () => this.#create(project, body) };
        return undefined;
      },
    });
  }

  #get(email: string): object {
    const account = this.accounts.get(email);
    const flaps = account !== undefined && !this.acts(email) && Math.floor(this.#ageOf(account) / FLAP_MS) % 2 === 1;
    if (account === undefined || flaps || account.hidden-- > 0)
      throw this.#adverse.has("absent_identity_forbidden")
        ? new RestError(
            403,
            "forbidden",
            "Permission 'iam.serviceAccounts.get' denied on resource (or it may not exist).",
          )
        : new RestError(404, "notFound", "Unknown service account");
    return resourceOf(account);
  }

  #create(project: string, request: { accountId: string; serviceAccount?: Partial<Account> }): object {
    // "must be 6-30 characters long, and match the regular expression [a-z]([-a-z0-9]*[a-z0-9])".
    if (!/^[a-z]([-a-z0-9]{4,28}[a-z0-9])$/.test(request.accountId))
      throw new RestError(400, "badRequest", "accountId");
    const email = `${request.accountId}@${project}.iam.gserviceaccount.com`;
    if (this.accounts.has(email))
      throw new RestError(
        409,
        "alreadyExists",
        `Service account ${request.accountId} already exists within project projects/${project}.`,
      );
    if (this.accounts.size >= this.maxAccounts)
      throw new RestError(429, "rateLimitExceeded", "Maximum number of service accounts on project reached.");
    const { displayName = "", description = "" } = request.serviceAccount ?? {};
    const createdAt = millisOf(this.#clock.now());
    const account = { email, displayName, description, hidden: this.readsUntilVisible, createdAt };
    this.accounts.set(email, account);
    return resourceOf(account);
  }
}
