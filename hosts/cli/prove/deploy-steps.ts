/** The steps that test deploys: a first deploy, a redeploy under load, a changed variable, and a failing deploy. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Deployment } from "../../../core/domain/deploy/deployment.ts";
import type { Capabilities } from "../../../core/domain/wire/capabilities.ts";
import { type Proof, type Step, StepError, waitUntil } from "./proof.ts";
import { deployService, sendDeploy } from "./send-deploy.ts";
import { askService } from "./service.ts";
import { EXIT_CODE, exitLine } from "./source.ts";

/** The platform's deadlines for a deploy, plus a minute for the step's own requests. */
export const deploySeconds = ({ deadlines }: Capabilities): number => deadlines.build + deadlines.rollout + 60;

/** How long the previous revision may answer after DONE, because a cloud's edge moves traffic with a delay. */
const SWITCH_SECONDS = 60;

export const deployStep: Step = {
  name: "deploy",
  needs: ({ builders }) => [builders.node],
  after: [],
  seconds: deploySeconds,
  run: (proof) => deployService(proof, { env: { PROVE_VALUE: "first" } }),
};

export const answerStep: Step = {
  name: "first response",
  needs: ({ runs }) => [runs],
  after: ["deploy"],
  seconds: () => 120,
  run: async (proof) => {
    // After DONE, the service must answer the first request, so the step does not retry.
    const begun = Date.now();
    const { version, value } = await askService(proof);
    if (version !== 1 || value !== "first")
      throw new StepError(`The service has version ${version} and the variable '${value}', not 1 and 'first'.`);
    proof.note(
      `200 over ${new URL(proof.state.url).protocol === "https:" ? "HTTPS" : "HTTP"} in ${Date.now() - begun} ms`,
    );
  },
};

const CLIENTS = 4;
const PAUSE_MS = 50;
/** How long the requests continue after the switch, while the previous revision drains. */
const DRAIN_MS = 3000;

interface Traffic {
  answered: number;
  /** The messages of failed requests. */
  readonly failures: string[];
  newest: number;
}

const sendRequests = async (proof: Proof, traffic: Traffic, stop: AbortSignal): Promise<void> => {
  while (!stop.aborted) {
    try {
      traffic.newest = Math.max(traffic.newest, (await askService(proof)).version);
      traffic.answered++;
    } catch (error) {
      if (proof.io.signal.aborted) throw error;
      traffic.failures.push((error as Error).message);
    }
    await sleep(PAUSE_MS);
  }
};

export const redeployStep: Step = {
  name: "redeploy under load",
  needs: ({ runs }) => [runs],
  after: ["first response"],
  seconds: (capabilities) => deploySeconds(capabilities) + SWITCH_SECONDS,
  run: async (proof) => {
    const traffic: Traffic = { answered: 0, failures: [], newest: 0 };
    const stop = new AbortController();
    const clients = Array.from({ length: CLIENTS }, () => sendRequests(proof, traffic, stop.signal));
    const version = proof.state.version + 1;
    try {
      await deployService(proof, { version });
      const problem = () => `The service still answers with version ${traffic.newest} after the deploy of ${version}.`;
      await waitUntil(proof, SWITCH_SECONDS, problem, async () => (traffic.newest === version ? true : undefined));
      await sleep(DRAIN_MS, undefined, { signal: proof.io.signal });
    } finally {
      stop.abort();
      await Promise.allSettled(clients);
    }
    const total = traffic.answered + traffic.failures.length;
    if (traffic.failures.length > 0)
      throw new StepError(`${traffic.failures.length} of ${total} requests failed. The first: ${traffic.failures[0]}`);
    proof.note(`${total} requests, none failed`);
  },
};

/** Waits until the newest revision answers. Adds a note if the previous revision still answered after DONE. */
const expectValue = async (proof: Proof, value: string): Promise<void> => {
  const begun = Date.now();
  let seen = "";
  let tries = 0;
  const problem = () => `The service has the variable '${seen}', not '${value}'.`;
  await waitUntil(proof, SWITCH_SECONDS, problem, async () => {
    tries++;
    seen = (await askService(proof)).value;
    return seen === value ? true : undefined;
  });
  if (tries > 1)
    proof.note(`the previous revision answered for ${Math.round((Date.now() - begun) / 1000)} s after DONE`);
};

/** Returns the run's deployment as the list shows it. */
export const findDeployment = async ({ client, io, run }: Proof): Promise<Deployment | undefined> => {
  const list = await client.listDeployments({ signal: io.signal });
  return list.find(({ name }) => name === run);
};

export const envStep: Step = {
  name: "env change",
  needs: () => [],
  after: ["deploy"],
  seconds: (capabilities) => deploySeconds(capabilities) + SWITCH_SECONDS,
  run: async (proof) => {
    await deployService(proof, { env: { PROVE_VALUE: "second", PROVE_ADDED: "yes" } });
    const names = (await findDeployment(proof))?.env.join(", ");
    if (names !== "PROVE_ADDED, PROVE_TOKEN, PROVE_VALUE")
      throw new StepError(`The deployment lists the variables ${names}, not PROVE_ADDED, PROVE_TOKEN, PROVE_VALUE.`);
    if (proof.capabilities.runs.supported) await expectValue(proof, "second");
  },
};

export const failureStep: Step = {
  name: "failing deploy",
  needs: ({ runs }) => [runs],
  after: ["first response"],
  seconds: deploySeconds,
  run: async (proof) => {
    const before = await askService(proof);
    const last = await sendDeploy(proof, { env: { PROVE_EXIT: String(EXIT_CODE) } });
    const { status, reason, exit_code, log_tail = [], message } = last;
    if (status !== "ERROR")
      throw new StepError(`The service exits at its start, but its deploy ended with ${status}, not ERROR.`);
    if (reason !== "crashed" || exit_code !== EXIT_CODE)
      throw new StepError(
        `The deploy failed with '${reason}' and exit code ${exit_code}, not 'crashed' and ${EXIT_CODE}: ${message}`,
      );
    if (!log_tail.some((line) => line.includes(exitLine(proof.run))))
      throw new StepError(
        `The failed deploy's record lacks the service's last line. It contains: ${log_tail.join("\n") || "no lines"}`,
      );
    const after = await askService(proof);
    if (JSON.stringify(after) !== JSON.stringify(before))
      throw new StepError(`After the failed deploy, another revision serves: ${JSON.stringify(after)}.`);
    proof.note(`reason '${reason}', exit code ${exit_code}, with the last lines; the previous revision serves`);
  },
};
