/** Runs one deploy on a simulated cloud, from the request to the last record. For property tests of deploy rules. */
import { createControlPlane, type DeployFields } from "../../core/control-plane.ts";
import { type AccountId, type Principal, parseAccount } from "../../core/domain/accounts/account.ts";
import type { Deployment } from "../../core/domain/deploy/deployment.ts";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import { millisOf } from "../../core/domain/wire/instant.ts";
import { normalizeDeploymentName } from "../../core/domain/wire/names.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { Source } from "../../core/ports/source-spool.ts";
import type { SettingsInput } from "../../core/use-cases/pipeline/context.ts";
import { createSimulatedCloud, type SimulatedCloud } from "./simulated-cloud.ts";

/** Options of `simulateDeploy`. */
export interface SimulateOptions {
  /** The cloud, with the services of earlier deploys on it; defaults to a new cloud. */
  readonly cloud?: SimulatedCloud;
  /** Policies and limits of the control plane. */
  readonly settings?: SettingsInput;
  /** The account that deploys; defaults to `simulated`. */
  readonly account?: string;
}

/** The result of `simulateDeploy`. */
export interface SimulatedDeploy {
  /** Why the request was rejected before its stream started; absent if the deploy ran. */
  readonly refused?: ControlPlaneError;
  /** The records of the stream, in order; empty if the request was rejected. */
  readonly records: readonly DeployEvent[];
  /** The deployment in the account's list afterwards; absent if the list does not contain it. */
  readonly deployment?: Deployment;
  /** Duration on the cloud's clock, in milliseconds. */
  readonly millis: number;
}

/** Content does not matter, because the memory provider builds nothing. */
const source: Source = {
  digest: `sha256:${"0".repeat(64)}`,
  bytes: 1,
  open: async function* () {
    yield Uint8Array.of(0);
  },
  discard: async () => undefined,
};

/**
 * Deploys on the cloud's clock and waits until the deploy ends.
 *
 * @param fields by their names on the wire, as form text or as JSON values: `{ function_name: "app", volumes: {} }`
 */
export const simulateDeploy = async (
  fields: Readonly<Record<string, unknown>>,
  options: SimulateOptions = {},
): Promise<SimulatedDeploy> => {
  const { cloud = createSimulatedCloud(), settings = {}, account = "simulated" } = options;
  const principal: Principal = { account: parseAccount(account) as AccountId, credentialId: "simulation" };
  const controlPlane = createControlPlane(cloud.ports, settings);
  const startedAt = cloud.clock.now();
  const deploy = async (): Promise<Pick<SimulatedDeploy, "refused" | "records">> => {
    const run = await controlPlane.deploy(principal, {
      fields: fields as DeployFields,
      archive: { kind: "accepted", source },
    });
    return run.isErr() ? { refused: run.error, records: [] } : { records: await Array.fromAsync(run.value.follow()) };
  };
  const ended = await cloud.during(deploy());
  const millis = millisOf(cloud.clock.now()) - millisOf(startedAt);
  // Reads from the memory provider directly, because the faults apply to the deploy and not to this call.
  const shown = await createControlPlane(cloud.memory.ports, settings).listDeployments(principal);
  // A name that is not text finds no deployment. Some values cannot even be converted to text.
  const { function_name: written } = fields;
  const name = typeof written === "string" ? normalizeDeploymentName(written) : undefined;
  const deployment = shown.isOk() ? shown.value.find((one) => one.name === name) : undefined;
  return { ...ended, ...(deployment === undefined ? {} : { deployment }), millis };
};
