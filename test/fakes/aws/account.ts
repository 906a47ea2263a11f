/**
 * Fake clients for what the doctor checks in an account: the caller, a stack's outputs, allowed actions, the number of
 * roles, and the shared resources. Shapes follow the service models in the client packages.
 */
import { Readable } from "node:stream";
import type { CORSRule } from "@aws-sdk/client-s3";
import type { AwsClients } from "../../../adapters/aws/clients.ts";
import { actionsOf, needs, sqlNeeds } from "../../../adapters/aws/requirements.ts";
import { printRecords } from "../../../adapters/aws/volumes/record.ts";
import { instantOfSeconds, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { type FakeQuotas, fakeQuotas } from "./quotas.ts";
import { recordCommand } from "./requests/recorder.ts";
import { AwsError } from "./server.ts";

export interface FakeAccount {
  /** Undefined: no credentials are available. */
  arn: string | undefined;
  /** Undefined: the stack does not exist. */
  outputs: Record<string, string> | undefined;
  readonly allowed: Set<string>;
  /** Values of shared resources that were deleted; all others exist. */
  readonly gone: Set<string>;
  /** Whether the caller may simulate policies, read the account summary, and read the shared resources. */
  mayLook: boolean;
  /** The path of the caller's role. */
  rolePath: string;
  /** Whether the caller may read its own role. */
  mayGetOwnRole: boolean;
  roles: number;
  rolesQuota: number;
  readonly quotas: FakeQuotas;
  /** The CORS rules of each volume's bucket; undefined if the bucket has none. */
  readonly volumes: Map<string, CORSRule[] | undefined>;
  /** The input of each simulation. */
  readonly simulations: { readonly PolicySourceArn?: string; readonly Marker?: string }[];
  readonly clients: Pick<AwsClients, "sts" | "iam" | "stacks" | keyof typeof parts>;
}

interface Command {
  readonly constructor: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: the input of any command
  readonly input: any;
}

const failure = (name: string, message: string, httpStatusCode = 403): Error =>
  Object.assign(new Error(message), { name, $metadata: { httpStatusCode } });

const client = (key: keyof AwsClients, answer: (name: string, input: Command["input"]) => unknown) => ({
  send: async ({ constructor: { name }, input }: Command) => {
    recordCommand(key, name, input);
    return answer(name, input);
  },
});

/** Results per page of a simulation. */
const PAGE = 4;

const recordsOf = (volumes: FakeAccount["volumes"]): string =>
  printRecords(
    [...volumes.keys()].map((id) => ({
      id,
      name: id as VolumeName,
      state: "live",
      call: "1",
      at: instantOfSeconds(1),
      createdAt: timestampOf(instantOfSeconds(1)),
    })),
  );

/** How each service reports a missing resource: in its response or with an exception. */
const parts = {
  ecs: (isThere: (name: string) => boolean, { clusters }: Command["input"]) => ({
    clusters: clusters.filter(isThere).map((clusterName: string) => ({ clusterName, status: "ACTIVE" })),
  }),
  balancer: (isThere: (name: string) => boolean, { ListenerArns }: Command["input"]) => {
    if (!ListenerArns.every(isThere))
      throw failure("ListenerNotFoundException", "One or more listeners not found", 400);
    return { Listeners: ListenerArns.map((ListenerArn: string) => ({ ListenerArn })) };
  },
  builds: (isThere: (name: string) => boolean, { names }: Command["input"]) => ({
    projects: names.filter(isThere).map((name: string) => ({ name })),
  }),
  registry: (isThere: (name: string) => boolean, { repositoryNames: [name] }: Command["input"]) => {
    if (!isThere(name)) throw failure("RepositoryNotFoundException", `The repository '${name}' does not exist`, 400);
    return { repositories: [{ repositoryName: name }] };
  },
  s3: (
    isThere: (name: string) => boolean,
    { Bucket }: Command["input"],
    name: string,
    volumes: FakeAccount["volumes"],
  ) => {
    // A response to HEAD has no body and therefore no error code.
    if (!isThere(Bucket)) throw failure("NotFound", "UnknownError", 404);
    if (name === "ListObjectsV2Command") return { Contents: [{ Key: `volumes/${"0".repeat(32)}.json` }] };
    if (name === "GetObjectCommand") return { Body: { transformToString: async () => recordsOf(volumes) }, ETag: "1" };
    if (name !== "GetBucketCorsCommand") return {};
    const rules = volumes.get(Bucket);
    if (rules === undefined) throw failure("NoSuchCORSConfiguration", "The CORS configuration does not exist", 404);
    return { CORSRules: rules };
  },
  logs: (isThere: (name: string) => boolean, { logGroupName }: Command["input"]) => {
    if (!isThere(logGroupName))
      throw failure("ResourceNotFoundException", "The specified log group does not exist.", 400);
    return { events: [] };
  },
  athena: (isThere: (name: string) => boolean, { WorkGroup }: Command["input"]) => {
    if (!isThere(WorkGroup)) throw failure("InvalidRequestException", `WorkGroup ${WorkGroup} is not found.`, 400);
    return { WorkGroup: { Name: WorkGroup, State: "ENABLED" } };
  },
} as const;

/** The doctor reads Service Quotas through the HTTP handler of the STS client. */
const handlerOf = ({ service }: FakeQuotas) => ({
  handle: async ({ headers, body }: { headers: Record<string, string>; body: string }) => {
    const request = { verb: "POST", path: "/", query: new URLSearchParams(), headers, body: Buffer.from(body) };
    const answer = async () => {
      try {
        return await service.route(request)?.act();
      } catch (error) {
        if (error instanceof AwsError) return service.failed(error, request);
        throw error;
      }
    };
    const { status, body: text } = (await answer()) ?? { status: 404, body: "{}" };
    return { response: { statusCode: status, body: Readable.from([text]) } };
  },
});

/** Every action that the platform needs. */
export const everyAction = (): readonly string[] => Object.values({ ...needs, ...sqlNeeds }).flatMap(actionsOf);

export const fakeAccount = (): FakeAccount => {
  const simulations: FakeAccount["simulations"][number][] = [];
  const quotas = fakeQuotas();
  const denied = () => failure("AccessDenied", "the caller is not authorized to perform this");
  const ownRole = (): string | undefined => /:assumed-role\/([^/]+)\//.exec(account.arn ?? "")?.[1];
  const arnOf = (role: string): string =>
    `arn:aws:iam::123456789012:role${role === ownRole() ? account.rolePath : "/"}${role}`;
  const simulate = (input: { PolicySourceArn: string; ActionNames: string[]; Marker?: string }) => {
    simulations.push(input);
    const role = ownRole();
    if (role !== undefined && input.PolicySourceArn !== arnOf(role))
      throw failure("NoSuchEntityException", `The role ${input.PolicySourceArn} cannot be found.`, 404);
    const from = Number(input.Marker ?? 0);
    const page = input.ActionNames.slice(from, from + PAGE);
    const more = from + PAGE < input.ActionNames.length;
    return {
      EvaluationResults: page.map((EvalActionName) => ({
        EvalActionName,
        EvalDecision: account.allowed.has(EvalActionName) ? "allowed" : "implicitDeny",
      })),
      IsTruncated: more,
      ...(more ? { Marker: String(from + PAGE) } : {}),
    };
  };
  const isThere = (name: string): boolean => !account.gone.has(name);
  const looks = Object.entries(parts).map(([name, answer]) => [
    name,
    client(name as keyof typeof parts, (command, input) => {
      if (!account.mayLook) throw denied();
      return answer(isThere, input, command, account.volumes);
    }),
  ]);
  const getRole = ({ RoleName }: Command["input"]) => {
    if (!isThere(RoleName)) throw failure("NoSuchEntityException", `The role ${RoleName} cannot be found.`, 404);
    if (RoleName === ownRole() && !account.mayGetOwnRole) throw denied();
    return { Role: { RoleName, Arn: arnOf(RoleName) } };
  };
  const clients = {
    ...Object.fromEntries(looks),
    sts: {
      ...client("sts", () => {
        if (account.arn === undefined) throw failure("CredentialsProviderError", "Could not load credentials");
        return { Arn: account.arn, Account: "123456789012" };
      }),
      config: { signer: async () => ({ sign: async (request: object) => request }), requestHandler: handlerOf(quotas) },
    },
    stacks: client("stacks", (_name, { StackName }) => {
      if (account.outputs === undefined) throw failure("ValidationError", `Stack with id ${StackName} does not exist`);
      const Outputs = Object.entries(account.outputs).map(([OutputKey, OutputValue]) => ({ OutputKey, OutputValue }));
      return { Stacks: [{ StackName, Outputs }] };
    }),
    iam: client("iam", (name, input) => {
      if (!account.mayLook) throw denied();
      if (name === "SimulatePrincipalPolicyCommand") return simulate(input);
      if (name === "GetRoleCommand") return getRole(input);
      return { SummaryMap: { Roles: account.roles, RolesQuota: account.rolesQuota } };
    }),
  } as unknown as FakeAccount["clients"];
  const account: FakeAccount = {
    arn: "arn:aws:sts::123456789012:assumed-role/portside/i-0123",
    outputs: {},
    allowed: new Set(everyAction()),
    gone: new Set(),
    mayLook: true,
    roles: 20,
    rolesQuota: 1000,
    rolePath: "/",
    mayGetOwnRole: true,
    quotas,
    volumes: new Map(),
    simulations,
    clients,
  };
  return account;
};
