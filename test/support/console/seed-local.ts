/** Fills the local provider with services that run, log and fail. They have the same names as those of `seed.ts`. */
import type { Client } from "../../../hosts/client/index.ts";
import { nodeSource } from "../archives/archives.ts";
import { eventually } from "../vitest/eventually.ts";
import { storeObject } from "./seed.ts";
import type { ServedConsole } from "./served-console.ts";

const usage = ["ada", "grace", "<i>linus</i>"].map((user_id) => ({
  level: "usage",
  model: "small-model",
  user_id,
  chat_id: "chat-1",
  input: 900,
  output: 120,
  cached: 20,
  cost: 0.0031,
}));

const lines = [
  "GET /orders/1001 200 3 ms",
  "\u001b[31mError:\u001b[0m payment provider responded with 502, order 1042",
  "<script>document.title='executed'</script>",
  JSON.stringify({ message: "order placed", user: "ada", total: 42, cart: { items: 3 } }),
  ...usage.map((line) => JSON.stringify(line)),
];

const shop = `
import { createServer } from "node:http";
for (const line of ${JSON.stringify(lines)}) console.log(line);
const server = createServer((request, response) => {
  response.statusCode = request.url === "/missing" ? 404 : 200;
  response.end("hello");
});
server.listen(process.env.PORT);
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;

type DeployFields = Partial<Parameters<Client["deploy"]>[0]>;

/** Deploys a server. Returns the id of the deploy, and the URL of the service if the deploy succeeded. */
const deploy = async ({ client }: ServedConsole, name: string, server: string, fields: DeployFields = {}) => {
  const source_archive = new Blob([new Uint8Array(nodeSource(server))]);
  let last: { readonly deploy_id: string; readonly url?: string | undefined } | undefined;
  for await (const record of await client.deploy({ function_name: name, volumes: {}, source_archive, ...fields }))
    last = record;
  return { id: last?.deploy_id ?? "", url: last?.url };
};

/** Fills the platform. Returns the ids of a deploy that failed and of one that succeeded. */
export const seedLocal = async (served: ServedConsole): Promise<{ readonly failed: string; readonly done: string }> => {
  const { client } = served;
  await client.createVolume({ name: "orders" });
  await client.createVolume({ name: "old-orders" });
  await client.deleteVolume({ name: "old-orders" });
  await storeObject(served, "orders", "README.md", "# Orders by month\n\nOne file per month.\n");
  await storeObject(served, "orders", "reports/figures.csv", "month,orders\n2026-10,120\n");
  const { mounts } = (await client.capabilities()).volumes;
  const { id: done, url = "" } = await deploy(served, "shop-api", shop, {
    env: { LOG_LEVEL: "info", CACHE: "redis" },
    volumes: mounts.supported ? { "/data": "orders" } : {},
    schedule: "0 3 * * *",
    message: "First version",
  });
  for (const set of [{ LOG_LEVEL: "debug" }, { PAYMENT_URL: "https://pay.example" }] as const)
    for await (const _record of await client.setEnvironment({ name: "shop-api", set }));
  for (const path of ["/", "/missing"]) await (await fetch(new URL(path, url))).text();
  const { id: failed } = await deploy(served, "broken-import", 'console.error("no database"); process.exit(3);');
  await eventually(async () => {
    const { logs } = await client.readLogs({ deployment_name: "shop-api", query: '"order placed"' });
    if (logs.length === 0) throw new Error("the log has no line of the service");
  });
  return { failed, done };
};
