/** Start commands that replace their shell, so that a stop leaves no shell message in the log. */
import { describe, expect, test } from "vitest";
import { execLast } from "../../../../adapters/local/sandbox/exec-last.ts";
import { createInstances } from "../../../support/providers/instances.ts";
import { createBench, jobSetups } from "../../../support/sandbox/jobs.ts";

test.each([
  ["node server.js", "exec node server.js"],
  ["  node server.js", "  exec node server.js"],
  ["NODE_ENV=production A='b c' node server.js", "NODE_ENV=production A='b c' exec node server.js"],
  ['./bin/server --port "$PORT" 2>&1', 'exec ./bin/server --port "$PORT" 2>&1'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: shell syntax
  ["gunicorn -b 0.0.0.0:${PORT} 'app:create(1)'", "exec gunicorn -b 0.0.0.0:${PORT} 'app:create(1)'"],
  ["node migrate.js && node server.js", "node migrate.js && exec node server.js"],
  ["echo 'a; b'; node server.js", "echo 'a; b'; exec node server.js"],
  ["test -f x || node make.js && node server.js", "test -f x || node make.js && exec node server.js"],
])("%s becomes %s", (command, replaced) => expect(execLast(command)).toBe(replaced));

test.each([
  "exec node server.js",
  "node server.js | tee log",
  "node worker.js & node server.js",
  "(node server.js)",
  "{ node server.js; }",
  "if true; then node server.js; fi",
  "while true; do node server.js; done",
  "trap 'echo bye' EXIT; node server.js",
  "node server.js; exit $?",
  "node server.js; echo $(date)",
  "cd app",
  "A=1",
  "$COMMAND server.js",
  "node a.js\nnode b.js",
  "node 'unended",
  "node server.js # && exit",
  "",
])("%j is unchanged", (command) => expect(execLast(command)).toBe(command));

/** Prints before it listens, because a stop may follow immediately. */
const server = `console.log("up", process.env.A);
  require("node:http").createServer((request, response) => response.end()).listen(process.env.PORT);`;

describe.each(jobSetups)("a stopped instance logs no shell message ($kind with $limits)", (setup) => {
  test.each(["node server.js", "A=1 node server.js", "node -e 0 && node server.js"])("%s", async (command) => {
    await using bench = await createBench(setup);
    const instances = createInstances(bench);
    const instance = await instances.start(server, { command });
    if ("reason" in instance) throw new Error(instance.message);
    await instance.stop();
    const lines = instances.entries.map(({ logName, text }) => `${logName} ${text}`);
    expect(lines).toEqual([command.startsWith("A=") ? "stdout up 1" : "stdout up undefined"]);
  });
});
