/** A PostgreSQL server for one test, from Debian's package, in a temporary folder and on a Unix socket. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { expect } from "vitest";
import { eventually } from "../vitest/eventually.ts";
import { postgresPrograms } from "../vitest/machine.ts";

/** PostgreSQL refuses to run as root. */
const asItsUser = (): { readonly uid?: number; readonly gid?: number } => {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  return { uid: id("-u"), gid: id("-g") };
};

export const startPostgres = async () => {
  const bin = postgresPrograms() as string;
  const user = asItsUser();
  const folder = mkdtempSync(join(tmpdir(), "portside-pg-"));
  chmodSync(folder, 0o700);
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const made = spawnSync(join(bin, "initdb"), ["-D", data, "-U", "portside", "-A", "trust", "-E", "UTF8"], {
    ...user,
    cwd: folder,
    encoding: "utf8",
  });
  if (made.status !== 0) throw new Error(made.stderr);
  const start = () =>
    spawn(join(bin, "postgres"), ["-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"], {
      ...user,
      cwd: folder,
      stdio: "ignore",
    });
  let child = start();
  const pools: Pool[] = [];
  const pool = () => {
    const made = new Pool({ host: folder, user: "portside", database: "postgres", max: 4 });
    // Ignore errors of idle connections that the server closes.
    made.on("error", () => undefined);
    pools.push(made);
    return made;
  };
  const ready = () => {
    const asking = pool();
    return eventually(async () => expect((await asking.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]));
  };
  const stop = async () => {
    child.kill("SIGINT");
    if (child.exitCode === null) await once(child, "exit");
  };
  await ready();
  return {
    /** Through its socket. */
    url: `postgres://portside@${encodeURIComponent(folder)}/postgres`,
    pool,
    stop,
    restart: async () => {
      child = start();
      await ready();
    },
    close: async () => {
      await Promise.all(pools.map((one) => one.end()));
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
