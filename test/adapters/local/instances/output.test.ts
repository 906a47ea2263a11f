/** Output of commands reaches the platform completely and in order. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { linesIn } from "../../../../adapters/local/instances/read-lines.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { principalOf, runners, startLocal } from "../../../support/providers/local-platform.ts";
import { createBench, jobSetups, node, sh } from "../../../support/sandbox/jobs.ts";

describe.each(jobSetups)("$kind with $limits", (setup) => {
  test("delivers both streams in order, including a last line without a newline", async () => {
    await using bench = await createBench(setup);
    const script = "for n in 1 2 3; do echo out $n; echo err $n >&2; done; printf 'no newline'";
    const { stdout, stderr } = await bench.run(sh(script));
    expect(stdout).toEqual(["out 1", "out 2", "out 3", "no newline"]);
    expect(stderr).toEqual(["err 1", "err 2", "err 3"]);
  });

  test("loses nothing of a megabyte of output before a crash", async () => {
    await using bench = await createBench(setup);
    const code = `require("fs").writeSync(1, ("x".repeat(99) + "\\n").repeat(10000)); process.kill(process.pid, "SIGKILL")`;
    const { signal, stdout } = await bench.run(node(code));
    expect(signal).toBe("SIGKILL");
    expect(stdout.length).toBe(10_000);
  });

  test("resolves exited only after the last line was handled, however long that took", async () => {
    await using bench = await createBench(setup);
    const lines: string[] = [];
    const job = { argv: sh("echo one; echo two; printf three"), cwd: "/", env: {}, binds: [] } as const;
    const limits = { memory: 128 * 1024 ** 2, cpu: 1, processes: 20 };
    const running = bench.runner.start({ ...job, id: `${bench.scope}.slow`, limits }, (_stream, output) => {
      lines.push(...linesIn(output));
      return sleep(200);
    });
    await running.exited;
    expect(lines).toEqual(["one", "two", "three"]);
  });

  test("does not wait for a child that keeps the pipe open", async () => {
    await using bench = await createBench(setup);
    const startedAt = Date.now();
    const { code, stdout } = await bench.run(sh("(sleep 60; echo late) & echo early; exit 5"));
    expect({ code, stdout }).toEqual({ code: 5, stdout: ["early"] });
    expect(Date.now() - startedAt).toBeLessThan(30_000);
  });
});

describe.each(runners)("the log of a service (%s)", (runner) => {
  test("contains its lines with severities, including those before its crash", async () => {
    await using platform = await startLocal({ runner });
    const server = `
      import { createServer } from "node:http";
      console.log("plain");
      console.error("trouble");
      console.log(JSON.stringify({ severity: "WARNING", message: "structured" }));
      console.log(JSON.stringify({ level: 50, msg: "as pino writes it" }));
      process.stdout.write(Buffer.from([0x62, 0x61, 0x64, 0xff, 0x0a]));
      createServer((request, response) => {
        response.end("bye");
        response.on("close", () => { throw new Error("last words"); });
      }).listen(process.env.PORT);`;
    const url = await platform.up(nodeSource(server));
    await (await fetch(url)).text();
    const rows = async () => {
      const scope = { deployment_name: "app", limit: 1000 };
      return (await platform.controlPlane.readLogs(principalOf("acme"), scope))._unsafeUnwrap().logs;
    };
    await expect.poll(async () => (await rows()).some(({ message }) => message.includes('"crashed"'))).toBe(true);
    const all = await rows();
    const severityOf = (part: string) => all.find(({ message }) => message.includes(part))?.severity;
    expect(severityOf("plain")).toBe("DEFAULT");
    expect(severityOf("trouble")).toBe("ERROR");
    expect(severityOf("structured")).toBe("WARNING");
    expect(severityOf("as pino writes it")).toBe("ERROR");
    expect(severityOf("bad\ufffd")).toBe("DEFAULT");
    expect(severityOf("Error: last words")).toBe("ERROR");
    expect(severityOf('"reason":"crashed"')).toBe("CRITICAL");
    const order = ["plain", "structured", "as pino writes it"].map((part) =>
      all.findIndex(({ message }) => message.includes(part)),
    );
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });
});
