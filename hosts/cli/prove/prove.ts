/** `portside prove`: deploys a service on a platform, tests each feature with it, and reports the results. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Capabilities } from "../../../core/domain/wire/capabilities.ts";
import type { Client } from "../../client/client.ts";
import { formatFileError } from "../../composition/file-error.ts";
import { findUrl } from "../accounts/account.ts";
import { flag, option } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, type Input, urlOption, yesOption } from "../command.ts";
import { Spinner } from "../deploy/progress.ts";
import { paint } from "../terminal/colour.ts";
import { indentLines } from "../terminal/control-characters.ts";
import { CommandError, confirm, INTERRUPTED, type Io, print, printJson, say, UsageError } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";
import { printTable } from "../terminal/table.ts";
import { announce } from "./announcement.ts";
import { createNames, namesOf, type RunNames, runOf } from "./names.ts";
import { findCreated, listRetained, removeCreated } from "./remove.ts";
import { type Runner, runStory, type StepReport, type StepResult } from "./story.ts";

const colours: Readonly<Record<StepResult, Parameters<typeof paint>[1]>> = {
  pass: "green",
  fail: "red",
  skipped: "dim",
  "not run": "yellow",
};

const detailOf = ({ notes, reason }: StepReport): string =>
  [...(reason === undefined ? [] : [reason]), ...notes].join("; ");

/** Prints a line when a step ends. On a terminal, also shows the progress of the current step. */
const progressOf = (io: Io, spinner: Spinner): Pick<Runner, "show" | "report"> => ({
  show: (step, text) => spinner.begin(`${step}: ${text}`),
  report: (report) => {
    spinner.clear();
    const { step, result, seconds } = report;
    const word = paint(io, colours[result], result.padEnd(7), io.stderr);
    const detail = detailOf(report);
    const text = detail === "" ? "" : `: ${indentLines(safeText(io, detail, io.stderr), " ".repeat(8))}`;
    say(io, `${word} ${step} (${seconds} s)${text}`);
    spinner.begin("Continuing");
  },
});

const writeJson = (io: Io, file: string | undefined, value: unknown): void => {
  if (file === "-") printJson(io, value);
  if (file === undefined || file === "-") return;
  try {
    writeFileSync(resolve(io.cwd, file), `${JSON.stringify(value, null, 2)}\n`);
  } catch (error) {
    throw new CommandError(formatFileError(file, error as NodeJS.ErrnoException));
  }
};

const printReports = async (io: Io, reports: readonly StepReport[]): Promise<void> => {
  const rowOf = (report: StepReport) => {
    const { step, result, seconds } = report;
    const detail = indentLines(safeText(io, detailOf(report)), "");
    return [
      step,
      paint(io, colours[result], result),
      String(seconds),
      io.stdout.isTTY === true ? detail : detail.replaceAll("\n", " "),
    ];
  };
  await printTable(io, ["STEP", "RESULT", "SECONDS", "NOTES"], reports.map(rowOf));
};

const capabilitiesOf = (client: Client, io: Io): Promise<Capabilities> => client.capabilities({ signal: io.signal });

const TOKEN_BYTES = 24;

const prove = async (input: Input, io: Io): Promise<number> => {
  const client = clientFor(input, io);
  const url = findUrl(io, input.text("url"));
  const names = createNames();
  const capabilities = await capabilitiesOf(client, io);
  for (const line of announce(url, names, capabilities)) say(io, line);
  await confirm(io, "Begin?", input.flag("yes"));
  const begun = performance.now();
  const startedAt = new Date().toISOString();
  using spinner = new Spinner(io);
  const state = { url: "", version: 1, deploys: 0, lines: 0, volumes: {} };
  const proof = { ...names, client, io, capabilities, state, token: randomBytes(TOKEN_BYTES).toString("hex") };
  const { steps, retained } = await runStory({ proof, ...progressOf(io, spinner) });
  spinner.end();
  const { provider, region } = capabilities;
  const passed = steps.every(({ result }) => result === "pass" || result === "skipped");
  const seconds = Math.round(performance.now() - begun) / 1000;
  const head = { run: names.run, url, provider, region, passed, started_at: startedAt, seconds };
  const json = input.text("json");
  if (json !== "-") {
    await printReports(io, steps);
    for (const one of retained) print(io, `Kept: ${one}`);
  }
  writeJson(io, json, { ...head, steps, retained });
  if (!passed) say(io, `The log remains after the deletion: portside logs ${names.run}`);
  if (steps.at(-1)?.result !== "pass")
    say(io, `Run 'portside prove --clean ${names.run}' to delete the remaining resources.`);
  return io.signal.aborted ? INTERRUPTED : passed ? 0 : 1;
};

const readRun = (text: string | undefined): RunNames | undefined => {
  if (text === undefined) return undefined;
  const run = runOf(text);
  if (run === undefined)
    throw new UsageError(`'${text}' is not a valid run name. Use a name such as '${createNames().run}'.`);
  return namesOf(run);
};

/** Deletes the resources that earlier runs left behind, including runs on other machines. */
const clean = async (input: Input, io: Io): Promise<number> => {
  const run = readRun(input.positionals[0])?.run;
  const client = clientFor(input, io);
  const capabilities = await capabilitiesOf(client, io);
  const found = await findCreated(client, run, io.signal);
  const all = [...found.deployments, ...found.volumes];
  if (all.length > 0) {
    say(io, `Earlier runs of 'portside prove' left the deployments and volumes ${all.join(", ")}.`);
    await confirm(io, "Delete them? A run that is still active will fail.", input.flag("yes"));
  }
  const removed = await removeCreated(client, { run, emptyListings: 2 }, io.signal);
  const retained = await listRetained(client, capabilities, removed, io.signal);
  const names = [...removed.deployments, ...removed.volumes];
  const json = input.text("json");
  if (json !== "-") {
    print(io, names.length === 0 ? "Found no deployments or volumes of earlier runs." : `Deleted ${names.join(", ")}.`);
    for (const one of retained) print(io, `Kept: ${one}`);
  }
  writeJson(io, json, { removed, retained });
  return 0;
};

export const command: Command = {
  usage: "prove [-y] [--json FILE] | prove --clean [RUN] [-y]",
  options: {
    ...urlOption,
    ...yesOption,
    json: option("FILE", "Write the report as JSON to a file, or - for standard output"),
    clean: flag("Delete the resources that earlier runs left behind, or only those of RUN"),
  },
  positionals: { min: 0, max: 1 },
  examples: ["prove", "prove -y --json report.json", "prove --clean"],
  notes: [
    "Deploys a small service with a unique name, calls it, redeploys it under load, reads its log, and uses a volume, a schedule and SQL. Deletes these resources at the end, even after Ctrl-C.",
    "Skips steps that the provider does not support, and shows the reason. The exit code is 1 if a step fails.",
  ],
  run: (input, io) => {
    if (input.flag("clean")) return clean(input, io);
    if (input.positionals.length > 0) throw new UsageError("Unexpected argument RUN. Pass it only with --clean.");
    return prove(input, io);
  },
};
