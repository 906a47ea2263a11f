/** Starts the new process of an upgrade, and exchanges messages with it. The running process uses this class. */
import { type ChildProcess, fork } from "node:child_process";
import type { Server } from "node:net";
import { LIFELINE_FD, SUPERVISED } from "../lifeline.ts";
import { SUCCESSOR, type UpgradeAnswer, type UpgradeMessage } from "./messages.ts";

/** The maximum time for one answer. */
const ANSWER_MS = 120_000;

/** A start may take a minute, and the new engine runs four starts concurrently. */
const START_MS = 15_000;

/**
 * Returns the maximum time for the answer to a message, in milliseconds. The new process answers `open` when it has
 * started an instance of each running service.
 */
export const answerMs = (message: UpgradeMessage): number =>
  ANSWER_MS + (message.kind === "open" ? message.running.services.length * START_MS : 0);

export class NewProcess {
  readonly #child: ChildProcess;
  /** Resolves with the exit code or the signal, or with the reason why the process could not be created. */
  readonly #ended: Promise<string>;
  #waiting: PromiseWithResolvers<unknown> | undefined;

  /** Runs the command of this process again, in the version that is installed now. */
  constructor(isSupervised: boolean) {
    const [, script = "", ...args] = process.argv;
    this.#child = fork(script, args, {
      serialization: "advanced",
      stdio: ["inherit", "inherit", "inherit", "ipc", ...(isSupervised ? [LIFELINE_FD] : [])],
      env: { ...process.env, [SUCCESSOR]: "1", ...(isSupervised && { [SUPERVISED]: "1" }) },
    });
    this.#child.on("message", (answer: UpgradeAnswer) => {
      if ("error" in answer) this.#waiting?.reject(new Error(answer.error));
      else this.#waiting?.resolve(answer.result);
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once("exit", (code, signal) => resolve(String(code ?? signal)));
      this.#child.on("error", ({ message }) => {
        if (this.#child.pid === undefined) resolve(message);
      });
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Resolves with the answer. Rejects if the new process reports a problem, ends, or takes too long. */
  async ask(message: UpgradeMessage, handle?: Server): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting = { promise, resolve, reject };
    const millis = answerMs(message);
    const late = setTimeout(
      () => reject(new Error(`The new process did not answer within ${millis / 1000} seconds.`)),
      millis,
    );
    void this.#ended.then((how) => reject(new Error(`The new process ended (${how}).`)));
    try {
      // If the channel has closed, the process exits, which rejects the promise with the reason.
      if (this.#child.connected) this.#child.send(message, handle, { keepOpen: true }, () => undefined);
      return await promise;
    } finally {
      clearTimeout(late);
      this.#waiting = undefined;
    }
  }

  /** Ends the new process, but not its instances. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** Closes the channel, and lets this process end while the new one continues. */
  release(): void {
    if (this.#child.connected) this.#child.disconnect();
    this.#child.unref();
  }
}
