/**
 * Resolves the shared resources: configured names first, then the outputs of the stack that created them.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
 */
import type { ClientSource } from "./clients.ts";
import { type AwsConfig, type AwsSettings, type SharedResources, sharedResourcesSchema } from "./config.ts";

/** A stack's outputs by key. Lists are comma-separated text. */
export const outputsOf = async (stack: string, clients: ClientSource): Promise<Record<string, string>> => {
  const { DescribeStacksCommand } = await import("@aws-sdk/client-cloudformation");
  const { Stacks = [] } = await (await clients("stacks")).send(new DescribeStacksCommand({ StackName: stack }));
  const outputs = Stacks[0]?.Outputs ?? [];
  return Object.fromEntries(
    outputs.flatMap(({ OutputKey, OutputValue }) =>
      OutputKey === undefined || OutputValue === undefined ? [] : [[OutputKey, OutputValue]],
    ),
  );
};

const partNames = Object.keys(sharedResourcesSchema.shape) as readonly (keyof SharedResources)[];

/** The shared resources that the configuration does not name. */
export const unnamedResources = ({ shared }: Pick<AwsSettings, "shared">): readonly (keyof SharedResources)[] =>
  partNames.filter((name) => shared[name] === undefined);

/** Merges the configured names with the stack's outputs. Returns the names of the missing ones if there are any. */
export const joinResources = (
  { shared }: Pick<AwsSettings, "shared">,
  outputs: Readonly<Record<string, string>>,
): { readonly parts: SharedResources } | { readonly lacking: readonly string[] } => {
  const found = Object.fromEntries(
    partNames.flatMap((name) => {
      const output = outputs[name];
      const value = shared[name] ?? (name === "subnets" ? output?.split(",") : output);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const parsed = sharedResourcesSchema.safeParse(found);
  if (parsed.success) return { parts: parsed.data };
  return { lacking: [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))] };
};

/** SQL settings: configured values first, then the stack's outputs. */
export const sqlResources = (
  { athenaWorkgroup, logTable }: Pick<AwsSettings, "athenaWorkgroup" | "logTable">,
  outputs: Readonly<Record<string, string>>,
): Pick<AwsConfig, "athenaWorkgroup" | "logTable"> => ({
  athenaWorkgroup: athenaWorkgroup ?? outputs["athenaWorkgroup"],
  logTable: logTable ?? outputs["logTable"],
});

/** The complete configuration. Throws if neither source names a shared resource. */
export const configWith = (settings: AwsSettings, outputs: Readonly<Record<string, string>>): AwsConfig => {
  const joined = joinResources(settings, outputs);
  if ("lacking" in joined) throw new Error(`Nobody names the shared parts ${joined.lacking.join(", ")}.`);
  return { ...settings, ...sqlResources(settings, outputs), shared: joined.parts };
};
