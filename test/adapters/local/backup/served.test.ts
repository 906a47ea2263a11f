/**
 * Runs `portside backup` while everything on the server changes, then `portside restore` to another folder. A second
 * server serves that folder, next to the first server if possible.
 */
import { createHash, randomBytes } from "node:crypto";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { startCli } from "../../../support/cli/cli-process.ts";
import { Client, end, type Served, serve } from "../../../support/http/served.ts";
import { runners } from "../../../support/providers/local-platform.ts";

/** Content that contains its own hash. */
const ownHash = (body: Buffer): Buffer => Buffer.concat([createHash("sha256").update(body).digest(), body]);
const isWhole = (bytes: Buffer): boolean =>
  createHash("sha256").update(bytes.subarray(32)).digest().equals(bytes.subarray(0, 32));

/** Continuously writes new files to its volume, and renames them to replace older ones. */
const writer = `
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
let n = 0;
mkdirSync("/tmp/backup-writer/own", { recursive: true });
const write = () => {
  const body = randomBytes(20_000);
  writeFileSync("/tmp/backup-writer/half", Buffer.concat([createHash("sha256").update(body).digest(), body]));
  renameSync("/tmp/backup-writer/half", "/tmp/backup-writer/own/" + (n++ % 20));
  console.log(JSON.stringify({ written: n }));
  setTimeout(write, 5);
};
createServer((request, response) => response.end("the writer")).listen(process.env.PORT, write);
process.on("SIGTERM", () => process.exit(0));
`;

class Objects {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async put(object: string, bytes: Buffer): Promise<void> {
    const { url } = await this.#client.post<{ url: string }>("/v1/volume/upload", { volume: "data", object });
    expect((await fetch(url, { method: "PUT", body: new Uint8Array(bytes) })).ok).toBe(true);
  }

  async get(path: string): Promise<Buffer> {
    const { url } = await this.#client.post<{ url: string }>("/v1/volume/download", { volume: "data", path });
    return Buffer.from(await (await fetch(url)).arrayBuffer());
  }

  async paths(): Promise<string[]> {
    const { objects } = await this.#client.get<{ objects: { path: string }[] }>("/v1/volume/objects?volume=data");
    return objects.map(({ path }) => path);
  }
}

const STEADY = 40;
const PUT_AGAIN = 20;

test.each(runners)("serves everything from a backup of a busy server (%s)", async (runner) => {
  using folder = folderWith();
  const [data, restored, file] = ["data", "restored", "backup.tar.gz"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  const options = { runner, "drain-seconds": "0.1", "grace-seconds": "0.1" };
  const cli = (...args: string[]) => startCli(args, {}, folder.path).ended;
  const servers: Served[] = [];
  try {
    const first = await serve(data, options);
    servers.push(first);
    const client = new Client(first.url, first.apiKey as string);
    const objects = new Objects(client);
    const records = await Array.fromAsync(
      client.deploy("writer", nodeSource(writer), { "/tmp/backup-writer": "data" }),
    );
    expect(records.at(-1)?.status).toBe("DONE");
    const steady = new Map(
      Array.from({ length: STEADY }, (_, n) => [`steady/${n % 5}/${n}`, randomBytes(n === 0 ? 20 << 20 : 5000)]),
    );
    for (const [path, bytes] of steady) await objects.put(path, bytes);
    const putAgain = (n: number) => objects.put(`put/${n % PUT_AGAIN}`, ownHash(randomBytes(30_000)));
    for (let n = 0; n < PUT_AGAIN; n++) await putAgain(n);
    // PUTs of the same names continue until the backup is written.
    let isDone = false;
    const putting = (async () => {
      for (let n = 0; !isDone; n++) await putAgain(n);
    })();
    const { code, stdout, stderr } = await cli("backup", file, "--data-dir", data, "--json");
    isDone = true;
    await putting;
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ file, deployments: 1, volumes: 1, left_out: [] });
    expect(lstatSync(file).mode & 0o777).toBe(0o600);

    const made = await cli("restore", file, "--data-dir", restored);
    expect(made.code, made.stderr).toBe(0);
    expect(made.stdout).toMatch(/^Restored 1 deployment, 1 volume, \d+ objects, as of /);
    // Mounts of plain processes are links on the machine, which the services of two servers would share.
    const isBeside = runner === "bubblewrap";
    if (!isBeside) await end(servers.pop() as Served);
    const second = await serve(restored, options);
    servers.push(second);
    expect(second.apiKey).toBeUndefined();
    const again = new Client(second.url, first.apiKey as string);
    const copies = new Objects(again);
    const paths = await copies.paths();
    for (const [path, bytes] of steady) expect((await copies.get(path)).equals(bytes), path).toBe(true);
    const changing = paths.filter((path) => /^(put|own)\//.test(path));
    expect(changing.filter((path) => path.startsWith("own/")).length).toBeGreaterThan(0);
    expect(changing.filter((path) => path.startsWith("put/")).length).toBe(PUT_AGAIN);
    for (const path of changing) expect(isWhole(await copies.get(path)), path).toBe(true);
    const [deployed] = await again.list();
    expect(await (await fetch(deployed?.url as string)).text()).toBe("the writer");
    expect((await again.entries("writer")).some(({ written }) => Number(written) > 0)).toBe(true);

    // The first server, its services and the owners of the copies are unharmed.
    const [present] = isBeside ? await client.list() : [deployed];
    expect(await (await fetch(present?.url as string)).text()).toBe("the writer");
    const owners = [data, restored].map((path) =>
      readdirSync(join(path, "storage", "volumes")).map((id) => lstatSync(join(path, "storage", "volumes", id)).uid),
    );
    expect(owners[0]).toEqual(owners[1]);
  } finally {
    for (const server of servers) await end(server);
  }
});
