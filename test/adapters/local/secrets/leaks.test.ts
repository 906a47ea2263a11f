/** The value of a secret reaches the service and nothing else. Tested with each runner and real processes. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createMetrics } from "../../../../adapters/decorators/metrics/index.ts";
import { backupDataFolder } from "../../../../adapters/local/index.ts";
import { tryOr } from "../../../../adapters/shared/runtime/try-or.ts";
import type { Logger } from "../../../../core/ports/system.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { principalOf, runners, startLocalIn } from "../../../support/providers/local-platform.ts";

const acme = principalOf("acme");

/** Has characters that differ in a URL, in base64 and in JSON. */
const VALUE = 'pä55 w/rd+&="quoted"\\?>>~';
const forms = [
  VALUE,
  JSON.stringify(VALUE).slice(1, -1),
  encodeURIComponent(VALUE),
  Buffer.from(VALUE).toString("base64").replace(/=+$/, ""),
  Buffer.from(VALUE).toString("base64url"),
  Buffer.from(VALUE).toString("hex"),
];

const formsIn = (text: string): string[] => forms.filter((form) => text.includes(form));

/** Returns the value, crashes with it, or fails to start with it. */
const service = nodeSource(`
  import http from "node:http";
  const value = process.env.API_KEY;
  const shown = [value, encodeURIComponent(value), Buffer.from(value).toString("base64"), JSON.stringify(process.env)];
  console.log(shown.join("\\n"));
  if (process.env.FAILS) throw new Error("cannot start with " + value + " " + encodeURIComponent(value));
  http.createServer((req, res) => {
    if (req.url === "/crash") setTimeout(() => { throw new Error("crashed with " + value); });
    res.end(value);
  }).listen(process.env.PORT);
`);

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** Returns the arguments of all processes. A bare Linux machine has no `ps`. */
const processArguments = (): string => {
  if (!existsSync("/proc/self/cmdline")) return execFileSync("ps", ["axww", "-o", "args"], { encoding: "utf8" });
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const all = pids.map((pid) => tryOr(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"), "").replaceAll("\0", " "));
  expect(all.join("\n")).toContain(process.execPath);
  return all.join("\n");
};

/** Returns the files of the data folder that contain a form of the value, except logs. */
const leakingFiles = (dataDir: string): string[] =>
  filesIn(dataDir).filter(
    (path) => !path.startsWith(join(dataDir, "logs")) && formsIn(readFileSync(path).toString("utf8")).length > 0,
  );

/** Returns the rows of the log files with a form of the value. */
const rowsWithValue = (dataDir: string): string[] =>
  filesIn(join(dataDir, "logs"))
    .filter((path) => path.endsWith(".sqlite"))
    .flatMap((path) => {
      using db = new DatabaseSync(path, { readOnly: true });
      const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
      return tables.flatMap(({ name }) => {
        const statement = db.prepare(`SELECT * FROM "${name}"`);
        statement.setReadBigInts(true);
        return statement.all().map((row) => Object.values(row).map(String).join(" "));
      });
    })
    .filter((row) => formsIn(row).length > 0);

describe.each(runners)("%s", (runner) => {
  test("the value is in the service's own log lines, and in no file, answer, log, metric or process list", async () => {
    using folder = folderWith();
    const seen: string[] = [];
    const note = (...args: unknown[]) =>
      void seen.push(JSON.stringify(args, (_key, value) => (value instanceof Error ? String(value.stack) : value)));
    const logger: Logger = { debug: note, info: note, warn: note, error: note };
    const metrics = createMetrics();
    const keep = <T>(value: T): T => {
      seen.push(JSON.stringify(value));
      return value;
    };
    const data = join(folder.path, "data");
    await using platform = await startLocalIn(data, { runner }, {}, { logger, telemetry: metrics.telemetry });
    const { controlPlane } = platform;

    keep((await controlPlane.setSecret(acme, { name: "KEY", value: VALUE }))._unsafeUnwrap());
    const env = { API_KEY: { secret: "KEY" } };
    const records = keep(await platform.deploy(service, { env }));
    const url = records.at(-1)?.url as string;
    expect(await (await fetch(url)).text()).toBe(VALUE);
    seen.push(processArguments());

    await fetch(`${url}/crash`).catch(() => undefined);
    const failed = keep(await platform.deploy(service, { env: { ...env, FAILS: "1" } }));
    expect(failed.at(-1)).toMatchObject({ status: "ERROR", reason: "crashed" });
    expect(JSON.stringify(failed.at(-1))).toContain("[secret]");

    keep((await controlPlane.listSecrets(acme))._unsafeUnwrap());
    keep((await controlPlane.listDeployments(acme))._unsafeUnwrap());
    keep((await controlPlane.listReleases(acme, { name: "app" }))._unsafeUnwrap());
    keep((await controlPlane.plan(acme, { fields: { function_name: "app", volumes: {}, env } }))._unsafeUnwrap());
    const number = await controlPlane.setSecret(acme, { name: "KEY", value: { deep: VALUE } as never });
    keep(number._unsafeUnwrapErr());
    keep(await metrics.text());

    const logs = async () =>
      (await controlPlane.readLogs(acme, { deployment_name: "app", limit: 1000 }))._unsafeUnwrap().logs;
    await expect.poll(async () => JSON.stringify(await logs())).toContain("crashed with");
    const entries = await logs();
    const own = entries.filter(({ log_name }) => log_name === "stdout" || log_name === "stderr");
    expect(formsIn(own.map((entry) => entry.message).join("\n"))).toContain(VALUE);
    keep(entries.filter((entry) => !own.includes(entry)));

    for (const text of seen) expect(formsIn(text)).toEqual([]);
    expect(leakingFiles(data)).toEqual([]);
    const rows = rowsWithValue(data);
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row).toMatch(/\b(stdout|stderr)\b/);

    const file = join(folder.path, "backup.tar.gz");
    await backupDataFolder({ dataDir: data, file });
    const key = readFileSync(join(data, "secrets.key"), "utf8").trim();
    const unpacked = gunzipSync(readFileSync(file)).toString("latin1");
    expect(unpacked).not.toContain(key);
  });

  test("a build cannot read the value", async () => {
    using folder = folderWith();
    await using platform = await startLocalIn(folder.path, { runner });
    (await platform.controlPlane.setSecret(acme, { name: "KEY", value: VALUE }))._unsafeUnwrap();
    const reads = "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; exit 1";
    const manifest = { name: "test", private: true, scripts: { start: "node server.js", build: reads } };
    const source = nodeSource("", { "package.json": JSON.stringify(manifest) });
    const records = await platform.deploy(source, { env: { API_KEY: { secret: "KEY" } } });
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "build_failed" });
    expect(formsIn(JSON.stringify(records))).toEqual([]);
  });
});
