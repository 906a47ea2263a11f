/**
 * Resolves the shared resources. Configured names take precedence over the outputs of the stack that created them.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
 */
import { type ClientSource, sendCommand } from "./clients.ts";
import { type AwsConfig, type AwsSettings, type SharedResources, sharedResourcesSchema } from "./config.ts";

/** Returns a stack's outputs by key. Lists are comma-separated text. */
export const outputsOf = async (stack: string, clients: ClientSource): Promise<Record<string, string>> => {
  const { Stacks = [] } = await sendCommand(clients, "stacks", "DescribeStacksCommand", { StackName: stack });
  const outputs = Stacks[0]?.Outputs ?? [];
  return Object.fromEntries(
    outputs.flatMap(({ OutputKey, OutputValue }) =>
      OutputKey === undefined || OutputValue === undefined ? [] : [[OutputKey, OutputValue]],
    ),
  );
};

const resourceNames = Object.keys(sharedResourcesSchema.shape) as readonly (keyof SharedResources)[];

/** Resources that exist only in installations with several load balancers. */
const optionalNames: readonly (keyof SharedResources)[] = ["moreListenerArns"];

/** The stack names the listeners `listenerArn`, `listenerArn2`, `listenerArn3` and so on. */
const moreListenersIn = (outputs: Readonly<Record<string, string>>): string[] => {
  const arns: string[] = [];
  for (let arn = outputs["listenerArn2"]; arn !== undefined; arn = outputs[`listenerArn${arns.length + 2}`])
    arns.push(arn);
  return arns;
};

const outputOf = (
  name: keyof SharedResources,
  outputs: Readonly<Record<string, string>>,
): string | readonly string[] | undefined => {
  if (name === "moreListenerArns") return moreListenersIn(outputs);
  return name === "subnets" ? outputs[name]?.split(",") : outputs[name];
};

/** Returns the shared resources that the configuration does not name. */
export const unnamedResources = ({ shared }: Pick<AwsSettings, "shared">): readonly (keyof SharedResources)[] =>
  resourceNames.filter((name) => shared[name] === undefined && !optionalNames.includes(name));

/** Merges the configured names with the stack's outputs. If names are missing, returns only the missing names. */
export const joinResources = (
  { shared }: Pick<AwsSettings, "shared">,
  outputs: Readonly<Record<string, string>>,
): { readonly resources: SharedResources } | { readonly missing: readonly string[] } => {
  const found = Object.fromEntries(
    resourceNames.flatMap((name) => {
      const value = shared[name] ?? outputOf(name, outputs);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const parsed = sharedResourcesSchema.safeParse(found);
  if (parsed.success) return { resources: parsed.data };
  return { missing: [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))] };
};

/** Returns the SQL settings. Configured values take precedence over the stack's outputs. */
export const sqlResources = (
  { athenaWorkgroup, logTable }: Pick<AwsSettings, "athenaWorkgroup" | "logTable">,
  outputs: Readonly<Record<string, string>>,
): Pick<AwsConfig, "athenaWorkgroup" | "logTable"> => ({
  athenaWorkgroup: athenaWorkgroup ?? outputs["athenaWorkgroup"],
  logTable: logTable ?? outputs["logTable"],
});

/** Returns the complete configuration. Throws if a shared resource is in neither the configuration nor the outputs. */
export const configWith = (settings: AwsSettings, outputs: Readonly<Record<string, string>>): AwsConfig => {
  const joined = joinResources(settings, outputs);
  if ("missing" in joined)
    throw new Error(
      `Missing shared resources: ${joined.missing.join(", ")}. Deploy the stack or name them in the configuration.`,
    );
  return { ...settings, ...sqlResources(settings, outputs), shared: joined.resources };
};
