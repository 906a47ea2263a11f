/**
 * Hostile builds create links, pipes, sockets, folders and races in every way in which a build runs tenant code.
 * Nothing outside changes, the server stays up, and it serves other accounts.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeTree } from "../../../../adapters/local/tenant-files/remove-tree.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { type Registry, serveRegistry } from "../../../support/archives/npm-registry.ts";
import { runners } from "../../../support/providers/local-platform.ts";
import {
  type Attack,
  canaries,
  evilPackage,
  fingerprint,
  hostileSource,
  innocentSource,
  isPython,
  kinds,
  reportOf,
  vectors,
} from "../../../support/sandbox/hostile-builds.ts";
import { type HostileServer, startHostileServer } from "../../../support/sandbox/hostile-server.ts";
import { has, needs } from "../../../support/vitest/machine.ts";
import { sampled } from "../../../support/vitest/sampled.ts";

type Runner = (typeof runners)[number];

/** Shares no factor with the number of vectors, so a sample contains every vector and every kind. */
const EVERY = 5;

const CONCURRENT_BUILDS = 3;
/** These are followed by a build that uses the same caches. */
const FOLLOWED: readonly Attack["vector"][] = ["dependency", "build"];
const IN_TIME = 120_000;
/** npm itself blocks on a pipe in place of a file that it reads. */
const WAITS_FOR_PIPE = 15_000;

/** A racing plain process follows its own links, and may write to their targets. Only a sandbox prevents that. */
const attacksOn = (runner: Runner): readonly Attack[] => {
  const attacks = kinds
    .filter((kind) => runner === "bubblewrap" || kind !== "race")
    .flatMap((kind) => vectors.map((vector) => ({ kind, vector })))
    .filter(({ vector }) => has("python") || !isPython(vector));
  return sampled(attacks, EVERY);
};

/** The account and name of an attack. Each has its own account, because an attack may break the account's caches. */
const accountOf = ({ kind, vector }: Attack): string => `a-${kind}-${vector.replace(".", "-")}`;

const inTurn = async <T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> => {
  const left = [...items];
  const work = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: CONCURRENT_BUILDS }, work));
};

class Siege implements AsyncDisposable {
  readonly #outsides = new Map<Attack, Folder>();
  readonly #before = new Map<Attack, string>();
  readonly #dataDir = mkdtempSync(join(tmpdir(), "portside-hostile-"));
  readonly #runner: Runner;
  readonly #registry: Registry;
  #server: HostileServer | undefined;

  constructor(runner: Runner, registry: Registry, attacks: readonly Attack[]) {
    this.#runner = runner;
    this.#registry = registry;
    for (const attack of attacks) {
      const outside = folderWith(canaries);
      this.#outsides.set(attack, outside);
      this.#before.set(attack, fingerprint(outside.path));
    }
  }

  async start(): Promise<HostileServer> {
    this.#server = await startHostileServer(this.#dataDir, this.#runner, this.#registry.url);
    return this.#server;
  }

  async attack(server: HostileServer, attack: Attack): Promise<void> {
    const { kind, vector } = attack;
    const outside = this.#outsides.get(attack)?.path ?? "";
    const source = hostileSource(attack, this.#runner, outside, this.#registry);
    // A mount below the app folder is created after the build. Plain processes would get a link on this machine.
    const volumes = this.#runner === "bubblewrap" ? { "/app/data": "v", "/app/node_modules/inner/data": "w" } : {};
    const deadline = kind === "fifo" && !isPython(vector) ? WAITS_FOR_PIPE : IN_TIME;
    const account = accountOf(attack);
    const fields = { function_name: account, volumes };
    const { status, message } = await server.deploy({ account, source, fields, deadline });
    expect(["DONE", "ERROR"], JSON.stringify(attack)).toContain(status);
    // A plain process can create files in place of the platform's, which breaks its own build.
    if (this.#runner === "bubblewrap") expect(message, JSON.stringify(attack)).not.toContain("could not build");
    const [reported] = this.#registry.asked.filter((path) => path.startsWith(`/${reportOf(attack)}/`));
    const [printed] = (await server.logs(account, account)).match(/planted \d+/) ?? [];
    const planted = Number((reported ?? printed)?.match(/\d+$/)?.[0]);
    // A race creates nothing at first.
    if (kind !== "race") expect(planted, `${JSON.stringify(attack)}: ${message}`).toBeGreaterThan(0);
    else expect(planted).not.toBeNaN();
  }

  /** Uses what the attack may have broken, then removes its files. */
  async clean(server: HostileServer, attack: Attack): Promise<void> {
    const account = accountOf(attack);
    if (FOLLOWED.includes(attack.vector)) {
      const source = innocentSource(this.#registry);
      const order = { account, source, fields: { function_name: account }, deadline: IN_TIME };
      const { status } = await server.deploy(order);
      expect(["DONE", "ERROR"], JSON.stringify(attack)).toContain(status);
    }
    await server.remove(account, account);
  }

  /** Deploys and calls a service of another account. */
  async expectWell(server: HostileServer, name: string): Promise<void> {
    const source = nodeSource(helloServer(name), { "name.txt": name });
    const order = { account: "other", source, fields: { function_name: name }, deadline: IN_TIME };
    const { url, message } = await server.deploy(order);
    expect(url, message).toBeDefined();
    expect(await (await fetch(url as string)).text()).toBe(name);
  }

  expectUnchanged(): void {
    for (const [attack, { path }] of this.#outsides)
      expect(fingerprint(path), JSON.stringify(attack)).toBe(this.#before.get(attack));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.kill();
    await removeTree(this.#dataDir);
    for (const { path } of this.#outsides.values()) await removeTree(path);
  }
}

test.for(runners)(
  "hostile builds change nothing outside and block no one (%s)",
  { timeout: 900_000 },
  async (runner, context) => {
    needs(context, "npm");
    await using registry = await serveRegistry({ evil: evilPackage });
    const attacks = attacksOn(runner);
    await using siege = new Siege(runner, registry, attacks);

    const attacked = await siege.start();
    await inTurn(attacks, (attack) => siege.attack(attacked, attack));
    siege.expectUnchanged();
    await siege.expectWell(attacked, "after-attacks");
    await attacked.kill();

    const recovered = await siege.start();
    await inTurn(attacks, (attack) => siege.clean(recovered, attack));
    siege.expectUnchanged();
    await siege.expectWell(recovered, "after-kill");
    await recovered.end();

    // A start sweeps the leftovers of builds.
    const swept = await siege.start();
    await siege.expectWell(swept, "after-sweep");
    await swept.end();
    siege.expectUnchanged();
  },
);
