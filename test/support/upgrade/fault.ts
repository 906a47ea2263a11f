/**
 * Preloaded by `node --import` into `portside serve`. The new process of an upgrade sends a signal at the step that the
 * file PORTSIDE_TEST_FAULT specifies, and writes its process id to a file next to it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { SUCCESSOR, type UpgradeMessage } from "../../../hosts/cli/server/upgrade/messages.ts";

export interface Fault {
  readonly step: UpgradeMessage["kind"];
  /** Before the new process acts, or after its answer. */
  readonly when: "before" | "after";
  readonly target: "new" | "running";
  readonly signal: "SIGKILL" | "SIGTERM";
}

const inject = ({ step, when, target, signal }: Fault): void => {
  const pid = target === "new" ? process.pid : process.ppid;
  let isDue = true;
  const act = () => {
    if (isDue) process.kill(pid, signal);
    isDue = false;
  };
  let current: string | undefined;
  const on = process.on.bind(process) as (event: string, listener: (...args: never[]) => void) => NodeJS.Process;
  process.on = (event: string, listener: (...args: never[]) => void) => {
    if (event !== "message") return on(event, listener);
    return on(event, (...args: never[]) => {
      current = (args as unknown as [UpgradeMessage])[0].kind;
      if (current === step && when === "before") act();
      listener(...args);
    });
  };
  const send = process.send?.bind(process) as NonNullable<typeof process.send>;
  process.send = (message: unknown) =>
    send(message, undefined, undefined, () => {
      if (current === step && when === "after") act();
    });
};

const file = process.env["PORTSIDE_TEST_FAULT"];
if (file !== undefined && process.env[SUCCESSOR] !== undefined) {
  writeFileSync(`${file}.pid`, String(process.pid));
  const fault = readFileSync(file, "utf8");
  if (fault !== "") inject(JSON.parse(fault));
}
