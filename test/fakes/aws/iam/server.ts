/**
 * A fake IAM for roles on a loopback port, with the query protocol. Sources: the service model (@aws-sdk/client-iam)
 * and, below https://docs.aws.amazon.com/IAM/latest: APIReference/API_CreateRole.html, .../API_PutRolePolicy.html,
 * UserGuide/reference_iam-quotas.html, UserGuide/troubleshoot.html (eventual consistency).
 */
import { IAMClient } from "@aws-sdk/client-iam";
import { Faults } from "../../faults.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, type AwsReply, type AwsRequest, type InjectedErrors, serveAws } from "../server.ts";
import { awsConfig } from "../test-config.ts";
import { printXml, type XmlContent } from "../xml.ts";

export interface FakeRole {
  readonly name: string;
  readonly arn: string;
  readonly trust: unknown;
  readonly boundary: string | undefined;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Inline policies by name, as they were put. */
  readonly policies: Map<string, string>;
  /** When it was created, in milliseconds. */
  readonly createdAt: number;
  /** The number of further calls that do not see the role. */
  hidden: number;
}

export interface FakeIam {
  readonly client: IAMClient;
  readonly faults: Faults;
  readonly roles: Map<string, FakeRole>;
  /** "changes that I make are not always immediately visible": how many calls do not see a new role. */
  looksUntilVisible: number;
  /** "Roles in an AWS account: 1000" */
  maxRoles: number;
  /**
   * "Multiple requests to change this object were submitted simultaneously": how many creations fail because a
   * concurrent one wins (CreateRole, ConcurrentModificationException).
   */
  meets: number;
  close(): Promise<void>;
}

const ACCOUNT = "123456789012";

const failure = (status: number, code: string, message: string) => new AwsError(code, message, status);

/** The query protocol uses other exception names than the model: `NoSuchEntity` for `NoSuchEntityException`. */
const failed = ({ status, code, message }: AwsError): AwsReply => ({
  status,
  headers: { "content-type": "text/xml" },
  body: `<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">${printXml({
    Error: { Type: "Sender", Code: code, Message: message },
    RequestId: "fake",
  })}</ErrorResponse>`,
});

const injected: InjectedErrors = {
  unavailable: failure(503, "ServiceUnavailable", "The service is unavailable (injected)."),
  permission_denied: failure(403, "AccessDenied", "You may not do this (injected)."),
  resource_exhausted: failure(400, "Throttling", "Rate exceeded (injected)."),
};

const json = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw failure(400, "MalformedPolicyDocument", "This policy contains invalid Json");
  }
};

/** Injected throttling is `Throttling`; other errors have the model's names. */
export interface FakeIamOptions {
  readonly faults?: Faults;
  /** The time in milliseconds; defaults to the machine's. */
  readonly now?: () => number;
}

export const startFakeIam = async ({
  faults = new Faults(),
  now = Date.now,
}: FakeIamOptions = {}): Promise<FakeIam> => {
  const roles = new Map<string, FakeRole>();

  const role = (name: string): FakeRole => {
    const found = roles.get(name);
    if (found === undefined || found.hidden-- > 0)
      throw failure(404, "NoSuchEntity", `The role with name ${name} cannot be found.`);
    return found;
  };

  const tagsOf = (form: URLSearchParams): Record<string, string> => {
    const tags: Record<string, string> = {};
    for (let at = 1; form.has(`Tags.member.${at}.Key`); at++)
      tags[form.get(`Tags.member.${at}.Key`) ?? ""] = form.get(`Tags.member.${at}.Value`) ?? "";
    return tags;
  };

  const createRole = (form: URLSearchParams): XmlContent => {
    const name = form.get("RoleName") ?? "";
    if (!/^[\w+=,.@-]{1,64}$/.test(name)) throw failure(400, "ValidationError", "roleName");
    if (roles.has(name)) throw failure(409, "EntityAlreadyExists", `Role with name ${name} already exists.`);
    if (roles.size >= fake.maxRoles)
      throw failure(409, "LimitExceeded", "Cannot exceed quota for RolesPerAccount: 1000.");
    const made: FakeRole = {
      name,
      arn: `arn:aws:iam::${ACCOUNT}:role/${name}`,
      trust: json(form.get("AssumeRolePolicyDocument") ?? ""),
      boundary: form.get("PermissionsBoundary") ?? undefined,
      description: form.get("Description") ?? "",
      tags: tagsOf(form),
      policies: new Map(),
      createdAt: now(),
      hidden: fake.looksUntilVisible,
    };
    roles.set(name, made);
    if (fake.meets-- > 0)
      throw failure(409, "ConcurrentModification", "Multiple requests to change this object were submitted.");
    const dated = { Path: "/", RoleId: "AROAFAKE", CreateDate: new Date(0).toISOString() };
    return { Role: { RoleName: name, Arn: made.arn, ...dated } };
  };

  const putRolePolicy = (form: URLSearchParams): XmlContent => {
    const document = form.get("PolicyDocument") ?? "";
    json(document);
    role(form.get("RoleName") ?? "").policies.set(form.get("PolicyName") ?? "", document);
    return {};
  };

  /** "The policy document is URL-encoded compliant with RFC 3986": APIReference/API_GetRolePolicy.html */
  const getRolePolicy = (form: URLSearchParams): XmlContent => {
    const { name, policies } = role(form.get("RoleName") ?? "");
    const PolicyName = form.get("PolicyName") ?? "";
    const document = policies.get(PolicyName);
    if (document === undefined) throw failure(404, "NoSuchEntity", `The role policy ${PolicyName} cannot be found.`);
    return { RoleName: name, PolicyName, PolicyDocument: encodeURIComponent(document) };
  };

  const calls: Readonly<Record<string, (form: URLSearchParams) => XmlContent>> = {
    CreateRole: createRole,
    PutRolePolicy: putRolePolicy,
    GetRolePolicy: getRolePolicy,
  };

  const route = ({ body }: AwsRequest) => {
    const form = new URLSearchParams(body.toString());
    const name = form.get("Action") ?? "";
    const call = calls[name];
    if (call === undefined) return undefined;
    const act = (): AwsReply => ({
      status: 200,
      headers: { "content-type": "text/xml" },
      body: printXml({
        [`${name}Response`]: { [`${name}Result`]: call(form), ResponseMetadata: { RequestId: "fake" } },
      }),
    });
    return { method: `iam.${name}`, act };
  };

  const server = await serveAws(faults, { route, failed, injected });
  const client = recorded(
    "iam",
    new IAMClient({
      endpoint: server.endpoint,
      region: awsConfig.region,
      maxAttempts: 1,
      credentials: { accessKeyId: "AKIAFAKE", secretAccessKey: "secret" },
    }),
  );
  const fake: FakeIam = {
    client,
    faults,
    roles,
    looksUntilVisible: 0,
    maxRoles: 1000,
    meets: 0,
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
  return fake;
};
