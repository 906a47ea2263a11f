/**
 * The parts of an account that a doctor looks at, as clients that answer here: who calls, what a stack's outputs are, which
 * actions are allowed, how many roles there are. Shapes are those of the service models in the client packages.
 */
import type { AwsClients } from "../../../adapters/aws/clients.ts";

export interface FakeAccount {
  /** Undefined: no credentials are found. */
  arn: string | undefined;
  /** Undefined: there is no such stack. */
  outputs: Record<string, string> | undefined;
  readonly allowed: Set<string>;
  /** Whether the caller may simulate policies and read the account's summary. */
  mayLook: boolean;
  roles: number;
  rolesQuota: number;
  /** The input of each simulation. */
  readonly simulations: { readonly PolicySourceArn?: string; readonly Marker?: string }[];
  readonly clients: Pick<AwsClients, "sts" | "iam" | "stacks">;
}

interface Command {
  readonly constructor: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: of whatever the command takes
  readonly input: any;
}

const failure = (name: string, message: string): Error => Object.assign(new Error(message), { name });

const client = (answer: (name: string, input: Command["input"]) => unknown) => ({
  send: async (command: Command) => answer(command.constructor.name, command.input),
});

/** So many results of a simulation are one page. */
const PAGE = 4;

export const fakeAccount = (): FakeAccount => {
  const simulations: FakeAccount["simulations"][number][] = [];
  const denied = () => failure("AccessDenied", "the caller is not authorized to perform this");
  const simulate = (input: { ActionNames: string[]; Marker?: string }) => {
    simulations.push(input);
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
  const clients = {
    sts: client(() => {
      if (account.arn === undefined) throw failure("CredentialsProviderError", "Could not load credentials");
      return { Arn: account.arn, Account: "123456789012" };
    }),
    stacks: client((_name, { StackName }) => {
      if (account.outputs === undefined) throw failure("ValidationError", `Stack with id ${StackName} does not exist`);
      const Outputs = Object.entries(account.outputs).map(([OutputKey, OutputValue]) => ({ OutputKey, OutputValue }));
      return { Stacks: [{ StackName, Outputs }] };
    }),
    iam: client((name, input) => {
      if (!account.mayLook) throw denied();
      if (name === "SimulatePrincipalPolicyCommand") return simulate(input);
      return { SummaryMap: { Roles: account.roles, RolesQuota: account.rolesQuota } };
    }),
  } as unknown as FakeAccount["clients"];
  const account: FakeAccount = {
    arn: "arn:aws:sts::123456789012:assumed-role/portside/i-0123",
    outputs: {},
    allowed: new Set(),
    mayLook: true,
    roles: 20,
    rolesQuota: 1000,
    simulations,
    clients,
  };
  return account;
};
