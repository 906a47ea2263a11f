/** `portside prove` against a platform behind the real HTTP API. */
import type { Ports } from "../../../core/ports/provider.ts";
import type { SettingsInput } from "../../../core/use-cases/pipeline/context.ts";
import { serveApi, type TestApi } from "../http/api.ts";
import { portside, type RunOptions } from "./terminal.ts";

export interface ProveReport {
  readonly run: string;
  readonly passed: boolean;
  readonly provider: string;
  readonly steps: readonly {
    readonly step: string;
    readonly result: string;
    readonly reason?: string;
    readonly notes: readonly string[];
  }[];
  readonly retained: readonly string[];
}

/** The variables that sign the command line in. */
export const signedIn = async (api: TestApi): Promise<NodeJS.ProcessEnv> => ({
  PORTSIDE_URL: api.url,
  PORTSIDE_API_KEY: await api.key(),
});

/** Runs `portside prove --json`, and parses its report. */
export const prove = async (env: NodeJS.ProcessEnv, options: RunOptions = {}) => {
  const ran = await portside(["prove", "-y", "--json", "-"], { ...options, env });
  return { ...ran, report: JSON.parse(ran.stdout) as ProveReport };
};

/** The deployments and volumes of the account. */
export const namesIn = async (api: TestApi, account = "acme"): Promise<string[]> => {
  const lists = await Promise.all(
    ["deployment", "volume"].map((kind) => api.call("GET", `/v1/${kind}/list`, { account })),
  );
  return lists.flatMap(({ json }) => json.map(({ name }: { name: string }) => name));
};

/** The steps that did not pass, with the reasons. */
export const notPassed = ({ steps }: ProveReport): readonly string[] =>
  steps.filter(({ result }) => result !== "pass").map(({ step, result, reason }) => `${step}: ${result}: ${reason}`);

/** Proves a provider that supports every step. Returns the report. */
export const proveOn = async (
  ports: Ports,
  settings?: SettingsInput,
): Promise<ProveReport & { readonly left: string[] }> => {
  await using api = await serveApi(ports, settings);
  const { report } = await prove(await signedIn(api));
  return { ...report, left: await namesIn(api) };
};
