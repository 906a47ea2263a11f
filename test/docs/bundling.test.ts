/** docs/guides/bundling.md: its build script bundles an application that works without installed packages. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { helloServer, nodeSource } from "../support/archives/archives.ts";

/** Creates a folder without installed packages. */
const elsewhere = () => mkdtempSync(join(tmpdir(), "portside-bundle-"));

const script = /^```js\n(.*?)^```$/ms.exec(readFileSync("docs/guides/bundling.md", "utf8"))?.[1] as string;

const sqlReason = expect.stringContaining("Mark 'portside' as external in the bundler (docs/guides/bundling.md).");
/** The application's output, per provider. */
const expected = ["memory", "local"].map((provider) => ({
  provider,
  last: "DONE",
  logs: 200,
  entries: expect.any(Number),
  queries: { supported: false, reason: sqlReason },
  sql: { kind: "unsupported", message: sqlReason },
  document: 200,
  page: 200,
}));

let folder: string;
const run = (...args: readonly string[]): string =>
  execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

/** The published package without types, next to the packages of this repository. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-bundling-"));
  const own = join(folder, "node_modules", "portside");
  mkdirSync(own, { recursive: true });
  for (const name of readdirSync("node_modules")) symlinkSync(resolve("node_modules", name), join(own, "..", name));
  copyFileSync("package.json", join(own, "package.json"));
  const options = ["--outDir", join(own, "dist"), "--noCheck", "--declaration", "false", "--sourceMap", "false"];
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", ...options]);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  copyFileSync("test/docs/bundled-app.ts", join(folder, "app.ts"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["esm", "mjs", script],
  [
    "cjs",
    "cjs",
    script
      .replace('"esm"', '"cjs"')
      .replace("app.mjs", "app.cjs")
      .replace(/^ {2}banner.*$/m, ""),
  ],
])("memory, local and http work in one file, as %s", (_format, extension, build) => {
  writeFileSync(join(folder, "build.mjs"), build);
  run("build.mjs");
  const place = elsewhere();
  try {
    copyFileSync(join(folder, "dist", `app.${extension}`), join(place, `app.${extension}`));
    writeFileSync(join(place, "source.tar.gz"), nodeSource(helloServer()));
    const args = ["--disable-warning=ExperimentalWarning", `app.${extension}`, "source.tar.gz"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: place, encoding: "utf8" });
    expect(status, stdout + stderr).toBe(0);
    const reports = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(reports).toEqual(expected);
    for (const { entries } of reports) expect(entries).toBeGreaterThan(0);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});

test("loggerOf includes neither the clouds nor the container", () => {
  writeFileSync(
    join(folder, "logger.mjs"),
    `import { build } from "esbuild";
     const contents = 'import { loggerOf } from "portside/composition"; console.log(loggerOf);';
     const { metafile } = await build({
       stdin: { contents, resolveDir: "." }, bundle: true, write: false, metafile: true, platform: "node", format: "esm",
       external: Object.keys((await import("portside/package.json", { with: { type: "json" } })).default.peerDependencies),
     });
     const [{ inputs }] = Object.values(metafile.outputs);
     console.log(JSON.stringify(Object.keys(inputs).filter((name) => inputs[name].bytesInOutput > 0)));`,
  );
  const inputs = JSON.parse(run("logger.mjs")) as string[];
  const own = inputs.filter((name) => name.includes("portside/dist"));
  expect(own).toEqual([expect.stringMatching(/hosts\/composition\/logger\.js$/)]);
  expect(inputs.filter((name) => name.includes("inversify"))).toEqual([]);
});
