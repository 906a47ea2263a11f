/** Reads the command of a Procfile. */
import type { DeployFailure } from "../reason.ts";

const NAME = /^[A-Za-z0-9_-]+$/;

/** Returns the command of the `web` process. Fails unless `web` is the only process and all lines are well-formed. */
export const webCommand = (procfile: string): { readonly command: string } | { readonly failure: DeployFailure } => {
  const fail = (message: string) => ({ failure: { reason: "build_failed" as const, message } });
  const lines = procfile.split("\n").map((line) => line.trim());
  const processes: [string, string][] = [];
  for (const line of lines.filter((line) => line !== "" && !line.startsWith("#"))) {
    const colon = line.indexOf(":");
    const [name, command] = [line.slice(0, colon), line.slice(colon + 1).trim()];
    if (colon === -1 || !NAME.test(name) || command === "")
      return fail(`The Procfile has a line that is not 'NAME: COMMAND': ${JSON.stringify(line.slice(0, 200))}`);
    processes.push([name, command]);
  }
  const web = processes.find(([name]) => name === "web");
  if (web === undefined)
    return fail("The Procfile has no 'web' process; rename the process that listens on PORT to 'web'.");
  const others = processes.filter((one) => one !== web).map(([name]) => `'${name}'`);
  if (others.length > 0)
    return fail(
      `The Procfile has ${processes.length} processes; a deployment runs one. Keep 'web', and deploy ${others.slice(0, 5).join(", ")} separately.`,
    );
  return { command: web[1] };
};
