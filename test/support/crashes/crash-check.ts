/** The invariants after a killed server has started again. */
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Deployment } from "../../../core/domain/deploy/deployment.ts";
import type { Client, Served } from "../http/served.ts";
import { marked } from "../sandbox/jobs.ts";

/** What a client knows about a deployment. */
export interface Known {
  readonly name: string;
  /** The text of the last deploy that the client saw succeed; undefined if there was none. */
  serving?: string | undefined;
  /** A deploy that the client has not seen end: the text that it would serve, and its id after the first record. */
  pending?: { readonly text: string; deployId?: string } | undefined;
  /** A delete that was sent, and whether it was answered. */
  deleting?: "sent" | "done" | undefined;
}

/** Three times the specified bound of five seconds, because other tests may load the machine. */
const ANSWER_MS = 15_000;

const assert = (holds: boolean, words: string, about?: unknown): void => {
  if (!holds) throw new Error(about === undefined ? words : `${words}: ${JSON.stringify(about)}`);
};

/** The prefix of the markers of a folder's instances. */
export const scopeOf = (dataDir: string): string => {
  const db = new DatabaseSync(join(dataDir, "state.sqlite"), { readOnly: true });
  const { value } = db.prepare("SELECT value FROM settings WHERE name = 'scope'").get() as { value: string };
  db.close();
  return value.slice(0, 16);
};

const namesIn = (...path: string[]): string[] => (existsSync(join(...path)) ? readdirSync(join(...path)) : []);

/** The control groups of a folder's instances, for either cgroup version of the machine. */
const groupsOf = (dataDir: string): string[] =>
  ["", "memory", "cpu", "pids"].flatMap((controller) => {
    const folder = join("/sys/fs/cgroup", controller, `portside-${scopeOf(dataDir)}`);
    return existsSync(folder)
      ? readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
      : [];
  });

/** Checks that no process, folder or control group of a dead instance remains, no partial image, and no source. */
const nothingIsLeft = (dataDir: string, dead: ReadonlySet<string>): void => {
  const alive = marked(`${scopeOf(dataDir)}.`).map(({ instance }) => instance);
  const left = [...alive, ...groupsOf(dataDir), ...namesIn(dataDir, "run").map((id) => `${scopeOf(dataDir)}.${id}`)];
  assert(!left.some((instance) => dead.has(instance)), "a dead instance left a process, folder or control group", left);
  assert(namesIn(dataDir, "spool").length === 0, "a source was not deleted", namesIn(dataDir, "spool"));
  for (const owner of namesIn(dataDir, "images"))
    for (const image of namesIn(dataDir, "images", owner)) {
      const manifest = join(dataDir, "images", owner, image, "image.json");
      assert(existsSync(manifest), "a partial image was not deleted", image);
      JSON.parse(readFileSync(manifest, "utf8"));
    }
};

/** The text that a deployment serves; retries until it responds. */
const answerOf = async (url: string, until: number): Promise<string> => {
  for (;;) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
      if (response.ok) return await response.text();
    } catch {
      // Not yet.
    }
    if (Date.now() > until) throw new Error(`${url} does not respond`);
    await sleep(10);
  }
};

/**
 * How a deploy of the workload may fail: interrupted by the kill, or rejected because a volume was deleted meanwhile.
 */
const ends = ["interrupted", "volume_unavailable"];

/** Checks that an interrupted deploy has ended, and that the list and the log agree on its end. */
const checkPending = async (client: Client, known: Known, listed: Deployment | undefined, text: string | undefined) => {
  const deployId = known.pending?.deployId;
  const last = listed?.last_deploy;
  if (last != null) {
    assert(last.finished_at !== null, "a deploy of the killed server has not ended", last);
    assert(last.status === "DONE" || ends.includes(String(last.reason)), "a deploy has an unexpected outcome", last);
    if (deployId !== undefined) assert(last.deploy_id === deployId, "last_deploy is about another deploy", last);
    if (last.deploy_id === deployId && last.status === "DONE")
      assert(text === known.pending?.text, "a deploy that is DONE does not serve", { last, text });
  }
  if (deployId === undefined) return;
  const entries = (await client.entries(known.name)).filter((entry) => entry["deploy_id"] === deployId);
  // A first deploy that was killed before it began leaves nothing.
  if (listed === undefined && entries.length === 0) return;
  const ended = entries.filter(({ status }) => status === "DONE" || status === "ERROR");
  assert(ended.length === 1, "the log does not have the deploy's end exactly once", entries);
  if (last == null) return;
  assert(ended[0]?.["status"] === last.status, "the list and the log disagree on the end", { ended, last });
  assert((ended[0]?.["reason"] ?? null) === last.reason, "the list and the log disagree", { ended, last });
  assert(last.status === "DONE" || text !== known.pending?.text, "a deploy that serves is not DONE", { last, text });
};

const checkOne = async (client: Client, known: Known, listed: Deployment | undefined, until: number): Promise<void> => {
  const { serving, pending, deleting } = known;
  if (deleting === "done" && pending === undefined)
    return assert(listed === undefined, "a deleted deployment is listed", listed);
  if (listed === undefined) {
    assert(serving === undefined || deleting === "sent", "a serving deployment is not listed", known);
    return checkPending(client, known, listed, undefined);
  }
  assert(listed.status === "READY", "a partial deployment is listed", listed);
  const text = await answerOf(listed.url, until);
  assert([serving, pending?.text].includes(text), `'${text}' is neither the old nor the new revision`, known);
  await checkPending(client, known, listed, text);
};

/**
 * Compares what clients knew with the state after the restart.
 * @param orphans the instances that outlived the server
 * @returns the milliseconds until everything responded
 */
export const checkAfterCrash = async (
  client: Client,
  dataDir: string,
  all: readonly Known[],
  orphans: ReadonlySet<string>,
): Promise<number> => {
  const ready = Date.now();
  nothingIsLeft(dataDir, orphans);
  const listed = await client.list();
  const names = all.map(({ name }) => name);
  assert(
    listed.every(({ name }) => names.includes(name)),
    "a deployment is listed that no client created",
    listed,
  );
  await Promise.all(
    all.map((known) =>
      checkOne(
        client,
        known,
        listed.find(({ name }) => name === known.name),
        ready + ANSWER_MS,
      ),
    ),
  );
  return Date.now() - ready;
};

/** Checks that a server that shuts down on request leaves nothing running. */
export const checkAfterEnd = async ({ child, errors }: Served, dataDir: string): Promise<void> => {
  if (child.exitCode === null) await once(child, "exit");
  assert(child.exitCode === 0, "the server did not shut down cleanly", { code: child.exitCode, errors });
  const left = [...marked(`${scopeOf(dataDir)}.`), ...groupsOf(dataDir)];
  assert(left.length === 0, "a server that shut down left something", left);
};
