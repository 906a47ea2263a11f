/** The new process of an upgrade, as the running process sees it. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Server } from "node:net";
import { SUCCESSOR, type UpgradeAnswer, type UpgradeMessage } from "./messages.ts";

/** The maximum time for one answer. The first step starts an instance of each running service. */
const ANSWER_MS = 120_000;

export class NewProcess {
  readonly #child: ChildProcess;
  #waiting: PromiseWithResolvers<unknown> | undefined;

  /** Starts the command of this process again, as it is installed now. */
  constructor() {
    const [, script = "", ...args] = process.argv;
    this.#child = fork(script, args, { serialization: "advanced", env: { ...process.env, [SUCCESSOR]: "1" } });
    this.#child.on("message", (answer: UpgradeAnswer) => {
      if ("error" in answer) this.#waiting?.reject(new Error(answer.error));
      else this.#waiting?.resolve(answer.result);
    });
    const fail = (how: string) => this.#waiting?.reject(new Error(`The new engine ended (${how}).`));
    this.#child.once("error", ({ message }) => fail(message));
    this.#child.once("exit", (code, signal) => fail(String(code ?? signal)));
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Resolves with the answer. Rejects if the new engine reports a problem, ends, or takes too long. */
  async ask(message: UpgradeMessage, handle?: Server): Promise<unknown> {
    this.#waiting = Promise.withResolvers();
    const late = setTimeout(
      () => this.#waiting?.reject(new Error(`The new engine did not answer within ${ANSWER_MS / 1000} seconds.`)),
      ANSWER_MS,
    );
    try {
      if (this.#child.exitCode !== null) throw new Error("The new engine has ended.");
      this.#child.send(message, handle, { keepOpen: true }, (error) => error && this.#waiting?.reject(error));
      return await this.#waiting.promise;
    } finally {
      clearTimeout(late);
      this.#waiting = undefined;
    }
  }

  /** Ends the new engine, whose instances end with it. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  /** Lets this process end before the new engine. */
  release(): void {
    this.#child.disconnect();
    this.#child.unref();
  }
}
