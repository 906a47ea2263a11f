/** The application that test/docs/bundling.test.ts bundles into one file: a deploy, its log, and SQL, per provider. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { accountOf, type ControlPlane, createControlPlane } from "portside";
import { portside } from "portside/http";
import { createLocalProvider } from "portside/local";
import { createMemoryProvider } from "portside/memory";

const principal = { account: accountOf("acme"), credentialId: "bundle" };
const archive = readFileSync(process.argv[2] as string);

const report = async (provider: string, controlPlane: ControlPlane): Promise<void> => {
  const app = Fastify();
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
  await app.register(portside, { controlPlane, caller: () => principal });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const form = new FormData();
  form.set("function_name", "app");
  form.set("volumes", "{}");
  form.set("source_archive", new Blob([archive]), "source.tar.gz");
  const deployed = await fetch(`${url}/v1/deploy`, { method: "POST", body: form });
  const records = (await deployed.text()).trim().split("\n");
  const last = JSON.parse(records.at(-1) as string) as { status: string };
  const logs = await fetch(`${url}/v1/deployment/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ deployment_name: "app", query: "severity>=DEFAULT" }),
  });
  const { queries } = controlPlane.capabilities().sql;
  const statement = await controlPlane.runSql(principal, { query: "SELECT 1 AS a" });
  const document = await fetch(`${url}/openapi.json`);
  const page = await fetch(`${url}/docs`);
  console.log(
    JSON.stringify({
      provider,
      last: last.status,
      logs: logs.status,
      entries: ((await logs.json()) as { logs: unknown[] }).logs.length,
      queries,
      sql: statement.isErr() ? statement.error : "answered",
      document: document.status,
      page: page.status,
    }),
  );
  await app.close();
  await controlPlane.close();
};

// In a function, because CommonJS has no top-level await.
const main = async (): Promise<void> => {
  await report("memory", createControlPlane(createMemoryProvider().ports));
  const dataDir = mkdtempSync(join(tmpdir(), "portside-bundled-"));
  const local = await createLocalProvider({ dataDir, ingressPort: 0 });
  await report("local", createControlPlane(local.ports));
  await local.close();
  rmSync(dataDir, { recursive: true, force: true });
};

void main();
