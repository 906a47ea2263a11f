// Builds the published package into dist/: JavaScript and types from the sources, the console, and the
// schema of portside.json.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
const compiled = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
  stdio: "inherit",
});
if (compiled.status !== 0) process.exit(compiled.status ?? 1);
const page = spawnSync(
  process.execPath,
  ["node_modules/vite/bin/vite.js", "build", "--config", "hosts/console/vite.config.ts", "--logLevel", "warn"],
  { stdio: "inherit" },
);
if (page.status !== 0) process.exit(page.status ?? 1);
chmodSync("dist/hosts/cli/main.js", 0o755);
const { projectSchema } = await import("../dist/hosts/http/docs/openapi.js");
mkdirSync("dist/schema", { recursive: true });
writeFileSync("dist/schema/portside.json", `${JSON.stringify(projectSchema(), null, 2)}\n`);
