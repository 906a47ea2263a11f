/** Runs the shell commands of pages from top to bottom, each page on a new platform. */
import { expect, test } from "vitest";
import { freePort } from "../../adapters/local/instances/free-port.ts";
import { needs } from "../support/vitest/machine.ts";
import { ShellPage } from "./shell-page.ts";

const deployed = (...names: readonly string[]): string =>
  names.map((name) => `portside init ${name} && portside deploy ${name}`).join("\n");

/** The commands that create the deployments and files that each page presumes. */
const pages: Readonly<Record<string, string>> = {
  "docs/accounts.md": "",
  "docs/deploy.md": "",
  "docs/quickstart.md": "",
  "docs/operations/running.md": "",
  "docs/logs.md": deployed("logs-node", "logs-python", "shop"),
  "docs/secrets.md": "",
  "docs/schedules.md": deployed("shop"),
  "docs/sql.md": "echo 'SELECT COUNT(*) AS n FROM logs' > report.sql",
  "docs/usage.md": deployed("my-app"),
  "docs/volumes.md": `
pg_dump() { echo "what is in $1"; }
psql() { cat > /dev/null; }
jq() { sed -n 's/.*"url":"\\([^"]*\\)".*/\\1/p'; }
mkdir site
echo 'a {}' > site/a.css
echo '1;2' > figures.csv
printf '1;' > half.csv
etag='"another"'`,
};

test.for(Object.entries(pages))("%s", async ([file, before], context) => {
  needs(context, "curl");
  using page = new ShellPage(file, await freePort());
  expect(page.blocks.length).toBeGreaterThan(0);
  const { code, output } = await page.run(before);
  expect(code, output).toBe(0);
});
