/** A model of services for the rows: their behaviour in a few lines, and steps that change them. */
import fc from "fast-check";
import { expect } from "vitest";
import type { ServiceRows } from "../../../../adapters/local/state/services.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Expected } from "../../../../core/domain/deploy/plan.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { testOrigin } from "../../../contracts/support.ts";

export const names = ["app", "other"] as DeploymentName[];
export const owners = ["acme", "others"] as AccountId[];
/** Moments, one day apart. */
export const day = (n: number): Timestamp => `2026-01-${String(n + 1).padStart(2, "0")}T00:00:00+00:00` as Timestamp;
const RESERVED_DAYS = 7;

export const templateOf = (name: DeploymentName, owner: AccountId, deployId: string): ServiceTemplate => ({
  name,
  owner,
  deployId,
  image: `local://${deployId}`,
  port: 8080,
  memory: 2 ** 30,
  cpu: 2,
  timeout: 60,
  concurrency: 80,
  maxInstances: 0,
  sessionAffinity: true,
  useHttp2: false,
  mounts: [],
  schedule: null,
  cronToken: "token",
  env: { KEY: `of ${deployId}` },
});

/** A service as its users see it. */
interface Held {
  readonly owner: AccountId;
  serving: string | null;
  rolling: string | null;
  settled: boolean;
  etag: string;
}

export type Step =
  | { kind: "begin"; name: DeploymentName; owner: AccountId; sees: "truth" | "absent" | "present" | "stale" }
  | { kind: "commit" | "abandon"; name: DeploymentName; right: boolean }
  | { kind: "remove"; name: DeploymentName }
  | { kind: "reopen" }
  | { kind: "wait" };

const name = fc.constantFrom(...names);
const mostly = <T>(usual: T, ...others: T[]) => fc.constantFrom(usual, usual, usual, ...others);

const begin = fc.record({
  kind: fc.constant("begin" as const),
  name,
  owner: mostly(...(owners as [AccountId, AccountId])),
  sees: mostly<"truth" | "absent" | "present" | "stale">("truth", "absent", "present", "stale"),
});
const end = fc.record({ kind: mostly<"commit" | "abandon">("commit", "abandon"), name, right: mostly(true, false) });

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: begin },
  { weight: 6, arbitrary: end },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove" as const), name }) },
  { weight: 2, arbitrary: fc.constant({ kind: "reopen" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "wait" as const }) },
);

/** Runs steps on the rows and on the model, and compares after each. */
export class ModelComparison {
  #rows: ServiceRows;
  readonly #restart: () => ServiceRows;
  readonly held = new Map<DeploymentName, Held>();
  readonly freed = new Map<DeploymentName, { owner: AccountId; until: number }>();
  /** The number of the newest release of each name. */
  readonly numbers = new Map<DeploymentName, number>();
  /** The numbers and deploys of all releases, newest first. */
  readonly releases = new Map<DeploymentName, readonly string[]>();
  readonly counts = { won: 0, lost: 0, ended: 0, interrupted: 0 };
  now = 0;
  deploys = 0;

  /** @param restart closes the state and opens it again */
  constructor(rows: ServiceRows, restart: () => ServiceRows) {
    this.#rows = rows;
    this.#restart = restart;
  }

  /** Runs one step and compares. */
  take(one: Step): void {
    if (one.kind === "begin") this.begin(one);
    else if (one.kind === "commit" || one.kind === "abandon") this.end(one);
    else if (one.kind === "remove") this.remove(one.name);
    else if (one.kind === "reopen") this.reopen();
    else this.now += 3;
    this.compare();
  }

  begin({ name, owner, sees }: Step & { kind: "begin" }): void {
    const before = this.held.get(name);
    const freed = this.freed.get(name);
    const holder = before?.owner ?? (freed !== undefined && freed.until > this.now ? freed.owner : undefined);
    const present = { etag: sees === "stale" ? "etag-0" : (before?.etag ?? "etag-none"), owner };
    const absent = sees === "absent" || (sees === "truth" && before === undefined);
    const expected: Expected = absent ? "absent" : present;
    const wins = (holder === undefined || holder === owner) && (before === undefined) === (expected === "absent");
    const fits = expected === "absent" || expected.etag === before?.etag;
    const deployId = `d${++this.deploys}`;
    const outcome = this.#rows.begin(templateOf(name, owner, deployId), expected, day(this.now));
    expect("revision" in outcome).toBe(wins && fits);
    this.counts[wins && fits ? "won" : "lost"]++;
    if (!("revision" in outcome)) return;
    const etag = this.#rows.get(name)?.etag as string;
    expect(etag).not.toBe(before?.etag);
    if (before === undefined && !(freed !== undefined && freed.until > this.now)) this.numbers.delete(name);
    this.held.set(name, {
      owner,
      etag,
      rolling: deployId,
      serving: before?.serving ?? null,
      settled: before?.settled ?? false,
    });
  }

  end({ kind, name, right }: Step & { kind: "commit" | "abandon" }): void {
    const held = this.held.get(name);
    const revision = right ? (this.#rows.get(name)?.rolling?.id ?? "none") : "app-99999";
    const counts = right && held?.rolling != null;
    if (kind === "commit") expect(this.#rows.commit(name, revision, day(this.now), testOrigin)).toBe(counts);
    else this.#rows.abandon(name, revision, day(this.now));
    if (!counts || held === undefined) return;
    this.counts.ended++;
    if (kind === "commit") {
      held.serving = held.rolling;
      this.#release(name, held.rolling as string);
    }
    held.rolling = null;
    held.settled = true;
    held.etag = this.#rows.get(name)?.etag as string;
  }

  /** Records the release of a deploy. A name that was freed recently continues its numbers. */
  #release(name: DeploymentName, deployId: string): void {
    const number = (this.numbers.get(name) ?? 0) + 1;
    this.numbers.set(name, number);
    this.releases.set(name, [`${number} ${deployId}`, ...(this.releases.get(name) ?? [])]);
  }

  remove(name: DeploymentName): void {
    const held = this.held.get(name);
    if (held === undefined) return;
    this.releases.delete(name);
    this.#rows.remove(name, held.owner, day(this.now + RESERVED_DAYS));
    this.held.delete(name);
    this.freed.set(name, { owner: held.owner, until: this.now + RESERVED_DAYS });
  }

  /** Restarts after a crash: abandons rollouts, and removes services whose first rollout never ended. */
  reopen(): void {
    this.#rows = this.#restart();
    this.#rows.recover(day(this.now));
    for (const [name, held] of this.held) {
      if (held.rolling === null) continue;
      this.counts.interrupted++;
      if (!held.settled) this.held.delete(name);
      held.rolling = null;
      held.etag = this.#rows.get(name)?.etag ?? "";
    }
  }

  compare(): void {
    for (const name of names) {
      const [held, row] = [this.held.get(name), this.#rows.get(name)];
      expect(
        row === undefined
          ? undefined
          : {
              owner: row.owner,
              serving: row.serving?.template.deployId ?? null,
              rolling: row.rolling?.template.deployId ?? null,
              settled: row.settled,
              etag: row.etag,
            },
      ).toEqual(held);
      if (row?.serving != null)
        expect(row.serving.template).toEqual(templateOf(name, row.owner, row.serving.template.deployId));
      expect(
        this.#rows.releases.of(name).map(({ release, template }) => `${release} ${template.deployId}`),
        "releases",
      ).toEqual(this.releases.get(name) ?? []);
      const freed = this.freed.get(name);
      const holder = held?.owner ?? (freed !== undefined && freed.until > this.now ? freed.owner : undefined);
      const present = this.#rows.present(name, day(this.now));
      expect(present.kind === "free" ? undefined : present.owner).toBe(holder);
    }
    for (const owner of owners)
      expect(this.#rows.ofOwner(owner).map((one) => one.name)).toEqual(
        names.filter((one) => this.held.get(one)?.owner === owner),
      );
  }
}
