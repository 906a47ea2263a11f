/**
 * Records the README's picture (`npm run docs:picture`). Runs the command line on a terminal with a hundred columns: starts
 * the platform, deploys and calls a new service, and reads its log. Draws the output as an SVG.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { runProgram } from "../../hosts/cli/program.ts";
import type { Io } from "../../hosts/cli/terminal/io.ts";
import { COLUMNS, Recording, type Row } from "./recording.ts";
import { svgOf } from "./svg.ts";

const TITLE = "A terminal: portside serve, init, deploy, list and logs";
const READING = 0.9;

/** A terminal that can wait for given text, and writes its output to the recording, if there is one. */
const terminalOf = (
  recording: Recording | undefined,
  home: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => {
  let all = "";
  const waiting = new Map<string, () => void>();
  // The picture must not show the path of the recording machine.
  const output = {
    isTTY: true,
    columns: COLUMNS,
    write: (text: string) => {
      all += text;
      recording?.write(text.replaceAll(home, "~"));
      for (const [word, found] of waiting) if (all.includes(word)) found();
    },
  };
  const stdin = Readable.from([]) as unknown as NodeJS.ReadStream;
  const io: Io = { stdout: output, stderr: output, stdin, env: { HOME: home, ...env }, cwd: home, signal };
  return {
    io,
    text: () => all,
    said: (word: string) => new Promise<void>((resolve) => waiting.set(word, resolve)),
  };
};

const typed = (recording: Recording, command: string): void => {
  recording.pause(READING);
  recording.write(`\u001b[1;32m$\u001b[0m \u001b[1m${command}\u001b[0m\n`);
};

/** Runs every command and returns the rows of the terminal. */
export const record = async (): Promise<{ readonly rows: Row[]; readonly columns: number }> => {
  const home = mkdtempSync(join(tmpdir(), "portside-picture-"));
  const recording = new Recording();
  const stop = new AbortController();
  const settings = { PORTSIDE_DATA_DIR: join(home, "data"), PORTSIDE_PORT: "0", PORTSIDE_INGRESS_PORT: "0" };
  const server = terminalOf(recording, home, { ...settings, PORTSIDE_LOG_LEVEL: "error" }, stop.signal);
  const ready = server.said("Next:");
  recording.write("\u001b[1;32m$\u001b[0m \u001b[1mportside serve &\u001b[0m\n");
  const serving = runProgram(["serve"], server.io);
  try {
    await Promise.race([
      ready,
      serving.then((code) => Promise.reject(new Error(`serve ended with ${code}: ${server.text()}`))),
    ]);
    const word = (pattern: RegExp): string => pattern.exec(server.text())?.[1] ?? "";
    const env = { PORTSIDE_URL: word(/API +(http\S+)/), PORTSIDE_API_KEY: word(/(psk_\w+)/) };
    const run = async (line: string): Promise<string> => {
      const terminal = terminalOf(recording, home, env, stop.signal);
      typed(recording, `portside ${line}`);
      const code = await runProgram(line.split(" "), terminal.io);
      if (code !== 0) throw new Error(`${line} ended with ${code}: ${terminal.text()}`);
      return terminal.text();
    };
    await run("init hello");
    const url = /http:\S+/.exec((await run("deploy hello")).trimEnd().split("\n").at(-1) ?? "")?.[0] as string;
    typed(recording, `curl ${url}`);
    recording.write(await (await fetch(url)).text());
    await run("list");
    const logs = ["logs", "hello", "-q", "logName=stdout"];
    // The line may reach the log after the response.
    for (let quiet = ""; !quiet.includes("path=/"); ) {
      const terminal = terminalOf(undefined, home, env, stop.signal);
      await runProgram(logs, terminal.io);
      quiet = terminal.text();
    }
    await run(logs.join(" "));
    return { rows: await recording.rows(), columns: COLUMNS };
  } finally {
    stop.abort();
    await serving;
    rmSync(home, { recursive: true, force: true });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { rows, columns } = await record();
  writeFileSync(join(import.meta.dirname, "..", "images", "terminal.svg"), svgOf(rows, columns, TITLE));
}
