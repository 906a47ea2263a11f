/** Deploys the run's service, and follows the deploy to its last record. */
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { retry } from "../../client/storage/retry.ts";
import { sourceArchive } from "../deploy/pack.ts";
import { requestOf } from "../deploy/project.ts";
import { type Proof, StepError } from "./proof.ts";
import { packService } from "./source.ts";

export interface DeployChange {
  /** The version of the source. Defaults to the version that serves. */
  readonly version?: number;
  readonly volumes?: Readonly<Record<string, string>>;
  readonly schedule?: string;
  /** The variables in addition to the token. If undefined, the deploy omits `env` and keeps the current variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The declared size of the service, also shown in the announcement. */
export const declaredSize = { cpu: 1, memory: "512Mi", max_instances: 2 };

/** Messages of a normal rollout. Other messages report adjustments or limits that are not enforced. */
const ROUTINE =
  /^(Creating '|Updating '|Starting revision |The revision is ready|Listening after |Created new volume '|Scheduled: |Schedule removed|Stopping the previous revision|The service has started)/;

const fieldsOf = ({ run, token, state }: Proof, { volumes = state.volumes, schedule, env }: DeployChange) => ({
  name: run,
  fields: {
    ...declaredSize,
    timeout: 60,
    volumes,
    ...(schedule === undefined ? {} : { schedule }),
    ...(env === undefined ? {} : { env: { ...env, PROVE_TOKEN: token } }),
  },
});

/** Returns the last record of a deploy. Adds messages that are not routine to the notes. */
export const sendDeploy = async (proof: Proof, change: DeployChange): Promise<DeployEvent> => {
  const { client, io, run, state } = proof;
  const source = await packService({ run, version: change.version ?? state.version });
  const request = { ...requestOf(fieldsOf(proof, change)), source_archive: sourceArchive(source) };
  const records = await retry(io.signal, () => client.deploy(request, { signal: io.signal }));
  let last: DeployEvent | undefined;
  for await (const record of records) {
    proof.show(record.message);
    if (record.status === "DEPLOYING" && !ROUTINE.test(record.message)) proof.note(record.message);
    last = record;
  }
  if (last === undefined) throw new StepError("The deploy's stream ended without a record.");
  return last;
};

/** Deploys, and updates the state. Throws a `StepError` with the reason and the last lines if the deploy fails. */
export const deployService = async (proof: Proof, change: DeployChange = {}): Promise<void> => {
  const { status, reason, message, log_tail = [], url = "" } = await sendDeploy(proof, change);
  if (status !== "DONE")
    throw new StepError([`The deploy failed with '${reason}': ${message}`, ...log_tail].join("\n"));
  const { state } = proof;
  state.url = url.replace(/\/$/, "");
  state.deploys++;
  state.version = change.version ?? state.version;
  state.volumes = change.volumes ?? state.volumes;
};
