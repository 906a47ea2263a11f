/** One deploy on a simulated cloud, from its request to its last record: for properties of deploy rules. */
import { createControlPlane } from "../../core/control-plane.ts";
import { type AccountId, type Principal, parseAccount } from "../../core/domain/accounts/account.ts";
import type { Deployment } from "../../core/domain/deploy/deployment.ts";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import { millisOf } from "../../core/domain/wire/instant.ts";
import { normalizeDeploymentName } from "../../core/domain/wire/names.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { Source } from "../../core/ports/source-spool.ts";
import type { SettingsInput } from "../../core/use-cases/pipeline/context.ts";
import { createSimulatedCloud, type SimulatedCloud } from "./simulated-cloud.ts";

export interface SimulateOptions {
  /** What deploys before this one have left their services on; a new one where absent. */
  readonly cloud?: SimulatedCloud;
  /** Policies and limits of the control plane. */
  readonly settings?: SettingsInput;
  /** The account that deploys. */
  readonly account?: string;
}

export interface SimulatedDeploy {
  /** Why it was refused before its stream; absent where it ran. */
  readonly refused?: ControlPlaneError;
  /** What the stream said, in order; empty where it was refused. */
  readonly records: readonly DeployEvent[];
  /** The deployment as the account's list shows it afterwards; absent where there is none under the name. */
  readonly deployment?: Deployment;
  /** How long it took on the cloud's clock. */
  readonly millis: number;
}

/** Any source will do: nothing is built for real. */
const source: Source = {
  digest: `sha256:${"0".repeat(64)}`,
  bytes: 1,
  open: async function* () {
    yield Uint8Array.of(0);
  },
  discard: async () => undefined,
};

/**
 * Deploys and waits for the end, on the cloud's clock.
 * @param fields by their wire names, as text or as JSON values: `{ function_name: "app", volumes: {} }`
 */
export const simulateDeploy = async (
  fields: Readonly<Record<string, unknown>>,
  options: SimulateOptions = {},
): Promise<SimulatedDeploy> => {
  const { cloud = createSimulatedCloud(), settings = {}, account = "simulated" } = options;
  const principal: Principal = { account: parseAccount(account) as AccountId, credentialId: "simulation" };
  const controlPlane = createControlPlane(cloud.ports, settings);
  const begun = cloud.clock.now();
  const deploy = async (): Promise<Pick<SimulatedDeploy, "refused" | "records">> => {
    const run = await controlPlane.deploy(principal, { fields, archive: { kind: "kept", source } });
    return run.isErr() ? { refused: run.error, records: [] } : { records: await Array.fromAsync(run.value.follow()) };
  };
  const ended = await cloud.during(deploy());
  const millis = millisOf(cloud.clock.now()) - millisOf(begun);
  // Asked of the provider behind the faults: the list is no part of the deploy.
  const shown = await createControlPlane(cloud.memory.ports, settings).listDeployments(principal);
  // What is no text names nothing; some of it cannot even be turned into one.
  const { function_name: written } = fields;
  const name = typeof written === "string" ? normalizeDeploymentName(written) : undefined;
  const deployment = shown.isOk() ? shown.value.find((one) => one.name === name) : undefined;
  return { ...ended, ...(deployment === undefined ? {} : { deployment }), millis };
};
