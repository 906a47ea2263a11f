/** Service accounts of IAM's REST API: https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts */
import { Faults } from "./faults.ts";
import { type RestReply, restError, serveRest } from "./rest-server.ts";

interface Account {
  readonly email: string;
  readonly displayName: string;
  readonly description: string;
  /** Looks that do not see it yet. */
  hidden: number;
}

const PATH = /^\/v1\/projects\/([^/]+)\/serviceAccounts(?:\/([^/]+))?$/;

export class FakeIam {
  readonly faults = new Faults();
  readonly accounts = new Map<string, Account>();
  /** "You might need to wait for 60 seconds or more before you use it": iam/docs/service-accounts-create. */
  looksUntilVisible = 0;
  /** "By default, each project can have up to 100 service accounts": the same page. */
  most = 100;

  async open() {
    return serveRest(this.faults, ({ method, url, body }) => {
      const [, project = "", email] = PATH.exec(url.pathname) ?? [];
      if (method === "GET" && email !== undefined)
        return { method: "iam.get", act: () => this.#get(decodeURIComponent(email)) };
      if (method === "POST" && email === undefined && project !== "")
        return { method: "iam.create", act: () => this.#create(project, JSON.parse(body.toString())) };
      return undefined;
    });
  }

  #get(email: string): RestReply {
    const account = this.accounts.get(email);
    if (account === undefined || account.hidden-- > 0) return restError(404, `Unknown service account: ${email}`);
    return { status: 200, body: { name: `projects/-/serviceAccounts/${email}`, ...account } };
  }

  #create(project: string, request: { accountId: string; serviceAccount?: Partial<Account> }): RestReply {
    // "must be 6-30 characters long, and match the regular expression [a-z]([-a-z0-9]*[a-z0-9])".
    if (!/^[a-z]([-a-z0-9]{4,28}[a-z0-9])$/.test(request.accountId)) return restError(400, "accountId");
    const email = `${request.accountId}@${project}.iam.gserviceaccount.com`;
    if (this.accounts.has(email)) return restError(409, `Service account ${request.accountId} already exists.`);
    if (this.accounts.size >= this.most)
      return restError(429, "Maximum number of service accounts on project reached.");
    const { displayName = "", description = "" } = request.serviceAccount ?? {};
    this.accounts.set(email, { email, displayName, description, hidden: this.looksUntilVisible });
    return { status: 200, body: { email } };
  }
}
