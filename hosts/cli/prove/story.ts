/** Runs the steps in order, each within its deadline. Then deletes the run's resources, even after a failure. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Capabilities } from "../../../core/domain/wire/capabilities.ts";
import { answerStep, deployStep, envStep, failureStep, redeployStep } from "./deploy-steps.ts";
import { logsStep, scheduleStep, sqlStep } from "./log-steps.ts";
import { type Proof, type Step, StepError } from "./proof.ts";
import { listRetained, removeCreated } from "./remove.ts";
import { askService } from "./service.ts";
import { emptyStep, mountStep, volumeStep } from "./volume-steps.ts";

export const steps: readonly Step[] = [
  deployStep,
  answerStep,
  redeployStep,
  envStep,
  logsStep,
  volumeStep,
  mountStep,
  emptyStep,
  scheduleStep,
  sqlStep,
  failureStep,
];

export type StepResult = "pass" | "fail" | "skipped" | "not run";

export interface StepReport {
  readonly step: string;
  readonly result: StepResult;
  readonly seconds: number;
  readonly notes: readonly string[];
  /** Why the step failed, was skipped, or did not run. */
  readonly reason?: string;
}

/** The environment of the steps. Tests replace it. */
export interface Runner {
  readonly proof: Omit<Proof, "note" | "show">;
  show(step: string, text: string): void;
  report(report: StepReport): void;
}

/** Returns why the provider does not support the step, or undefined if it does. */
const reasonAgainst = (step: Step, capabilities: Capabilities): string | undefined => {
  for (const feature of step.needs(capabilities)) if (!feature.supported) return feature.reason;
  return undefined;
};

const failureReason = (error: unknown, stopped: AbortSignal, deadline: AbortSignal, seconds: number): string => {
  if (stopped.aborted) return "Interrupted.";
  if (deadline.aborted) return `The step took longer than ${seconds} s.`;
  return error instanceof Error ? error.message : String(error);
};

const runStep = async (runner: Runner, step: Step, known: Set<string>): Promise<StepReport> => {
  const { proof } = runner;
  const begun = performance.now();
  const seconds = step.seconds(proof.capabilities);
  const deadline = AbortSignal.timeout(seconds * 1000);
  const stopped = proof.io.signal;
  const io = { ...proof.io, signal: AbortSignal.any([stopped, deadline]) };
  const notes: string[] = [];
  const note = (text: string) => {
    if (!known.has(text)) notes.push(text);
    known.add(text);
  };
  const ended = (result: StepResult, reason?: string): StepReport => ({
    step: step.name,
    result,
    seconds: Math.round((performance.now() - begun) / 100) / 10,
    notes,
    ...(reason === undefined ? {} : { reason }),
  });
  try {
    await step.run({ ...proof, io, note, show: (text) => runner.show(step.name, text) });
    return ended("pass");
  } catch (error) {
    return ended("fail", failureReason(error, stopped, deadline, seconds));
  }
};

const withoutRun = (step: string, result: StepResult, reason: string): StepReport => ({
  step,
  result,
  seconds: 0,
  notes: [],
  reason,
});

/** Returns the report of a step that is skipped or cannot run, or undefined if the step can run. */
const obstacle = ({ proof }: Runner, step: Step, reports: readonly StepReport[]): StepReport | undefined => {
  const missing = reasonAgainst(step, proof.capabilities);
  if (missing !== undefined) return withoutRun(step.name, "skipped", missing);
  if (proof.io.signal.aborted) return withoutRun(step.name, "not run", "Interrupted.");
  const lacking = reports.find(({ step: name, result }) => step.after.includes(name) && result !== "pass");
  if (lacking?.result === "skipped") return withoutRun(step.name, "skipped", lacking.reason ?? "");
  return lacking === undefined
    ? undefined
    : withoutRun(step.name, "not run", `Requires the step '${lacking.step}', which did not pass.`);
};

/** The deadline of the deletion. Ctrl-C does not interrupt the deletion; a second Ctrl-C ends the process. */
const REMOVE_SECONDS = 600;
const GONE_SECONDS = 60;

/** Checks that the URL of the deleted deployment no longer reaches the service. */
const expectGone = async (proof: Proof): Promise<void> => {
  for (const ends = Date.now() + GONE_SECONDS * 1000; ; ) {
    const gone = await askService(proof).then(
      () => false,
      () => true,
    );
    if (gone) return;
    if (Date.now() > ends)
      throw new StepError(`The service still responds at ${proof.state.url} ${GONE_SECONDS} s after its deletion.`);
    await sleep(1000, undefined, { signal: proof.io.signal });
  }
};

const removeStep = (emptyListings: number, retained: string[]): Step => ({
  name: "delete",
  needs: () => [],
  after: [],
  seconds: () => REMOVE_SECONDS,
  run: async (proof) => {
    const { client, io, run, capabilities, state } = proof;
    proof.show("Deleting");
    const removed = await removeCreated(client, { run, emptyListings }, io.signal);
    if (capabilities.runs.supported && state.url !== "") await expectGone(proof);
    retained.push(...(await listRetained(client, capabilities, removed, io.signal)));
    const untrashed = removed.volumes.filter(
      (name) => !retained.some((kept) => kept.includes(`'${name}' in the trash`)),
    );
    if (untrashed.length > 0) throw new StepError(`The deleted volume '${untrashed[0]}' is not in the trash.`);
    proof.note("deleted all resources of the run");
  },
});

export interface Story {
  readonly steps: readonly StepReport[];
  /** The resources that the platform keeps by contract. */
  readonly retained: readonly string[];
}

/** Runs the steps, and then deletes the resources that they created. */
export const runStory = async (runner: Runner, all: readonly Step[] = steps): Promise<Story> => {
  const reports: StepReport[] = [];
  const known = new Set<string>();
  const end = (report: StepReport) => {
    reports.push(report);
    runner.report(report);
  };
  for (const step of all) end(obstacle(runner, step, reports) ?? (await runStep(runner, step, known)));
  const retained: string[] = [];
  const stopped = runner.proof.io.signal.aborted;
  // A request of an interrupted step may still be in flight.
  const removal = removeStep(stopped ? 2 : 1, retained);
  const proof = { ...runner.proof, io: { ...runner.proof.io, signal: new AbortController().signal } };
  end(await runStep({ ...runner, proof }, removal, known));
  return { steps: reports, retained };
};
