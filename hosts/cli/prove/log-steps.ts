/** The steps that need the log: reading and following it, a schedule, and SQL. */
import { setTimeout as sleep } from "node:timers/promises";
import { retry } from "../../client/storage/retry.ts";
import { followLog, LOG_PAGE, type LogRow } from "../logs/follow.ts";
import { readSinceThen } from "../logs/pages.ts";
import { LogReader } from "../logs/reader.ts";
import { pluralize } from "../volumes/transfer/format.ts";
import { deploySeconds, findDeployment } from "./deploy-steps.ts";
import { type Proof, type Step, StepError, waitUntil } from "./proof.ts";
import { deployService } from "./send-deploy.ts";
import { textOfService } from "./service.ts";
import { firedLine, lineStart } from "./source.ts";

/** How long a printed line may take to appear, beyond the delay that the provider declares. */
const GRACE_SECONDS = 60;

/** How many lines each part of the step prints. The reader uses smaller pages. */
const LINES = 120;
const PAGE_LINES = 50;
const BURSTS = 6;

const readerOf = ({ client, io, run }: Proof, text: string): LogReader =>
  new LogReader(client, io, run, `textPayload:"${text}"`);

/** Returns the cursor after the newest entry, by the platform's clock. */
const currentCursor = async (proof: Proof): Promise<string> =>
  (await new LogReader(proof.client, proof.io, proof.run, undefined).page({ limit: 1 })).cursor;

/** Makes the service print the next lines. */
const printLines = async (proof: Proof, count: number): Promise<void> => {
  const from = proof.state.lines + 1;
  const to = proof.state.lines + count;
  await textOfService(proof, `/lines?from=${from}&to=${to}`, { method: "POST" });
  proof.state.lines = to;
};

const numberOf = (row: LogRow): number => Number(/ line (\d+)$/.exec(row.message)?.[1]);

/** Returns which of the lines `from` to `to` are missing or repeated, or undefined if each occurs once. */
export const explainLines = (seen: readonly number[], from: number, to: number): string | undefined => {
  const wanted = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const missing = wanted.filter((line) => !seen.includes(line));
  const repeated = [...new Set(seen.filter((line, index) => seen.indexOf(line) !== index))];
  const others = seen.filter((line) => line < from || line > to);
  const problems = [
    missing.length === 0 ? "" : `${pluralize(missing.length, "line")} missing (first: ${missing[0]})`,
    repeated.length === 0 ? "" : `${pluralize(repeated.length, "line")} repeated (first: ${repeated[0]})`,
    others.length === 0 ? "" : `${pluralize(others.length, "line")} outside this range (first: ${others[0]})`,
  ].filter((problem) => problem !== "");
  return problems.length === 0 ? undefined : `Expected the lines ${from} to ${to}: ${problems.join("; ")}.`;
};

const expectLines = (how: string, seen: readonly number[], from: number, to: number): void => {
  const problem = explainLines(seen, from, to);
  if (problem !== undefined) throw new StepError(`${how}: ${problem}`);
};

const timeoutSeconds = ({ capabilities }: Proof): number => capabilities.logs.settle_seconds + GRACE_SECONDS;

/** The pause between reads. Log reads on a cloud count against a quota that all deployments share. */
const pauseOf = ({ capabilities: { logs } }: Proof): number => (logs.settle_seconds === 0 ? 1 : 3);

/** Reads pages until all lines have been seen. Returns the cursor after them. */
const readLines = async (proof: Proof, since: string): Promise<string> => {
  const reader = readerOf(proof, lineStart(proof.run));
  const seen: number[] = [];
  let cursor = since;
  const problem = () => `Reading the log: ${explainLines(seen, 1, LINES)}`;
  const readPages = async () => {
    for (let full = true; full; ) {
      const page = await reader.page({ since: cursor, limit: PAGE_LINES });
      seen.push(...page.logs.map(numberOf));
      cursor = page.cursor;
      full = page.logs.length === PAGE_LINES || page.partial;
    }
    return seen.length >= LINES ? true : undefined;
  };
  await waitUntil(proof, timeoutSeconds(proof), problem, readPages, pauseOf(proof));
  expectLines("Reading the log", seen, 1, LINES);
  return cursor;
};

/** Follows the log while the service prints. */
const followLines = async (proof: Proof, since: string): Promise<void> => {
  const [from, to] = [proof.state.lines + 1, proof.state.lines + LINES];
  const late = AbortSignal.timeout(timeoutSeconds(proof) * 1000);
  const signal = AbortSignal.any([proof.io.signal, late]);
  const reader = readerOf({ ...proof, io: { ...proof.io, signal } }, lineStart(proof.run));
  const printing = (async () => {
    for (let burst = 0; burst < BURSTS; burst++) {
      await printLines(proof, LINES / BURSTS);
      await sleep(250, undefined, { signal: proof.io.signal });
    }
  })();
  const seen: number[] = [];
  const read = (cursor: string | undefined) => reader.pageIfAny(cursor, LOG_PAGE);
  const follow = async () => {
    for await (const row of followLog(read, { since, signal })) if (seen.push(numberOf(row)) >= LINES) return;
  };
  await Promise.all([printing, follow()]);
  proof.io.signal.throwIfAborted();
  expectLines("Following the log", seen, from, to);
};

/** Reads the log again from the start, to detect late and repeated lines. */
const rereadLines = async (proof: Proof, since: string): Promise<void> => {
  const seen: number[] = [];
  const reader = readerOf(proof, lineStart(proof.run));
  await readSinceThen(reader, { since, until: undefined }, undefined, (row) => seen.push(numberOf(row)));
  expectLines("Reading the log again", seen, 1, proof.state.lines);
};

export const logsStep: Step = {
  name: "logs",
  needs: ({ runs, logs }) => [runs, logs.newest, logs.since, logs.query],
  after: ["first response"],
  seconds: ({ logs }) => 3 * (logs.settle_seconds + GRACE_SECONDS),
  run: async (proof) => {
    const start = await currentCursor(proof);
    proof.show("Reading the log");
    await printLines(proof, LINES);
    const cursor = await readLines(proof, start);
    proof.show("Following the log");
    await followLines(proof, cursor);
    await rereadLines(proof, start);
    proof.note(`${LINES} lines read and ${LINES} followed, each once`);
  },
};

/** A schedule fires within a minute. AWS may start a fire up to a minute late, and Google must first create the job. */
const FIRE_SECONDS = 180;

export const scheduleStep: Step = {
  name: "schedule",
  needs: ({ runs, cron, logs }) => [runs, cron.schedules, logs.since, logs.query],
  after: ["first response"],
  seconds: (capabilities) => deploySeconds(capabilities) + FIRE_SECONDS + capabilities.logs.settle_seconds,
  run: async (proof) => {
    const start = await currentCursor(proof);
    await deployService(proof, { schedule: "* * * * *" });
    const listed = (await findDeployment(proof))?.schedule ?? null;
    if (listed?.cron !== "* * * * *")
      throw new StepError(`The deployment lists the schedule ${JSON.stringify(listed)}, not '* * * * *'.`);
    proof.show("Waiting for the schedule's first fire, up to a minute");
    const begun = Date.now();
    const reader = readerOf(proof, firedLine(proof.run));
    const problem = () => "The schedule '* * * * *' did not fire, or the log lacks the fire's line.";
    const seconds = FIRE_SECONDS + proof.capabilities.logs.settle_seconds;
    const probe = async () => ((await reader.page({ since: start, limit: 1 })).logs.length > 0 ? true : undefined);
    await waitUntil(proof, seconds, problem, probe, pauseOf(proof));
    proof.note(`fired after ${Math.round((Date.now() - begun) / 1000)} s`);
  },
};

/** Counts the service's lines. If the provider does not run services, counts the platform's two entries per deploy. */
const countQuery = ({ run, capabilities }: Proof, since: string): string =>
  `SELECT COUNT(*) AS n FROM logs WHERE timestamp > TIMESTAMP '${since}' AND ` +
  (capabilities.runs.supported
    ? `STARTS_WITH(text_payload, '${lineStart(run)}')`
    : `JSON_VALUE(resource.labels.service_name) = '${run}' AND JSON_VALUE(json_payload, '$.event') = 'deploy'`);

export const sqlStep: Step = {
  name: "sql",
  needs: ({ sql }) => [sql.queries],
  after: ["deploy"],
  seconds: ({ sql }) => sql.lag_seconds + 2 * GRACE_SECONDS,
  run: async (proof) => {
    const { client, io, state, capabilities } = proof;
    const wanted = capabilities.runs.supported ? state.lines : 2 * state.deploys;
    // A time bound limits the bytes that a cloud scans and bills.
    const hourAgo = Date.parse(`${(await currentCursor(proof)).slice(0, 19)}Z`) - 3_600_000;
    const request = { query: countQuery(proof, new Date(hourAgo).toISOString()) };
    let counted: unknown;
    const problem = () => `SQL counts ${counted} entries of the log, not ${wanted}.`;
    const count = async () => {
      const { rows } = await retry(io.signal, () => client.runSql(request, { signal: io.signal }));
      counted = rows[0]?.["n"];
      return counted === wanted ? true : undefined;
    };
    await waitUntil(proof, capabilities.sql.lag_seconds + GRACE_SECONDS, problem, count, pauseOf(proof));
    proof.note(`counted ${wanted} entries`);
  },
};
