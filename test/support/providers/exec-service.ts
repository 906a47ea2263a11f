/** A service that runs the command in each request, to test from inside what a service can reach. */

/** For Node, as `server.mjs`. */
export const execService = `
import { execFile } from "node:child_process";
import { createServer } from "node:http";
createServer(async (request, response) => {
  let script = "";
  for await (const chunk of request) script += chunk;
  execFile("sh", ["-c", script], { timeout: 20000 }, (error, stdout, stderr) =>
    response.end(JSON.stringify({ code: error === null ? 0 : (error.code ?? -1), out: stdout.trim(), err: stderr.trim() })));
}).listen(process.env.PORT);
`;

export interface ExecResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** @param url of an exec service */
export const execIn = async (url: string, script: string): Promise<ExecResult> =>
  (await (await fetch(url, { method: "POST", body: script })).json()) as ExecResult;
