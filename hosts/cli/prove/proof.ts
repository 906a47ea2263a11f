/** The interface of a step, the state that the steps of a run share, and a function that waits for a condition. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Capabilities, Feature } from "../../../core/domain/wire/capabilities.ts";
import type { Client } from "../../client/client.ts";
import { CommandError, type Io } from "../terminal/io.ts";
import type { RunNames } from "./names.ts";

export interface Proof extends RunNames {
  readonly client: Client;
  /** Its signal aborts at Ctrl-C or at the step's deadline. */
  readonly io: Io;
  readonly capabilities: Capabilities;
  readonly token: string;
  readonly state: ProofState;
  /** Shows the current activity of the step. */
  show(text: string): void;
  /** Adds a finding to the step's notes, once per run. */
  note(text: string): void;
}

/** The results of earlier steps. */
export interface ProofState {
  /** The service's URL; empty before the first deploy. */
  url: string;
  /** The version of the source that currently serves requests. */
  version: number;
  /** The number of deploys that ended with DONE. */
  deploys: number;
  /** The number of the last log line that the service printed. */
  lines: number;
  /** The declared mounts. A deploy is a complete declaration, so each deploy repeats them. */
  volumes: Readonly<Record<string, string>>;
}

export interface Step {
  readonly name: string;
  /** The capabilities that the step requires. The step is skipped if the provider lacks one. */
  needs(capabilities: Capabilities): readonly Feature[];
  /** The steps that must pass before this step runs. */
  readonly after: readonly string[];
  /** The step's deadline in seconds. */
  seconds(capabilities: Capabilities): number;
  run(proof: Proof): Promise<void>;
}

/** Thrown if a step's check fails. The message contains the difference from the expected result. */
export class StepError extends CommandError {}

/** Calls `probe` with pauses until it returns a value. Throws a `StepError` with `problem` after `seconds`. */
export const waitUntil = async <T>(
  { io: { signal } }: Proof,
  seconds: number,
  problem: () => string,
  probe: () => Promise<T | undefined>,
  pauseSeconds = 1,
): Promise<T> => {
  const ends = Date.now() + seconds * 1000;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    if (Date.now() >= ends) throw new StepError(`${problem()} Waited ${seconds} s.`);
    await sleep(pauseSeconds * 1000, undefined, { signal });
  }
};
