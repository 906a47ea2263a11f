/** Deployments, releases, metrics and logs for pages with content. */
import type { NewLogEntry, Severity } from "../../../core/domain/logs/entry.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { MemoryConsole } from "./served-console.ts";

export type Line = readonly [severity: Severity, text: string | Readonly<Record<string, unknown>>];

/** Appends lines to a deployment's log. */
export const writeLines = async (served: MemoryConsole, name: string, lines: readonly Line[]): Promise<void> => {
  const entries = lines.map(
    ([severity, content]): NewLogEntry => ({
      owner: served.account,
      service: name as DeploymentName,
      severity,
      logName: "stdout",
      ...(typeof content === "string" ? { text: content } : { json: content }),
    }),
  );
  (await served.memory.provider.logs.append(entries))._unsafeUnwrap();
};

const MINUTES = 60;
const MINUTE_MS = 60_000;
const MIB = 1024 * 1024;

/** Adds an hour of metrics: traffic that rises and falls, with errors for a few minutes. */
const measureHour = (served: MemoryConsole, name: string, size: number): void => {
  served.clock.set(-MINUTES * MINUTE_MS);
  for (let minute = 0; minute < MINUTES; minute++) {
    const count = Math.round(size * (1.2 + Math.sin(minute / 7) + ((minute * 7) % 5) / 10));
    const requests = Array.from({ length: count }, (_, at) => ({
      status: minute > 40 && minute < 46 && at % 6 === 0 ? 500 : at % 23 === 0 ? 404 : 200,
      millis: 12 + ((at * 37) % 90) + (at % 19 === 0 ? 340 : 0),
    }));
    const instances = Array.from({ length: minute > 25 ? 2 : 1 }, () => ({
      millis: MINUTE_MS,
      cpuMillis: 4000 + count * 90,
      memoryBytes: (180 + minute) * MIB,
    }));
    served.memory.measure(served.account, name, {
      requests,
      instances: instances as never,
      coldStarts: minute === 26 ? 1 : 0,
    });
    served.clock.set(MINUTE_MS);
  }
};

/** Lines of a service that mostly works. */
export const ordinaryLines = (count: number): readonly Line[] =>
  Array.from({ length: count }, (_, at): Line => {
    if (at % 29 === 11) return ["ERROR", "\u001b[31mError:\u001b[0m payment provider responded with 502, order 1042"];
    if (at % 13 === 5) return ["WARNING", "Retrying the request to inventory (attempt 2 of 3)"];
    if (at % 3 === 0)
      return [
        "INFO",
        {
          message: "order placed",
          user: at % 2 === 0 ? "ada" : "grace",
          total: 20 + (at % 70),
          cart: { items: at % 5 },
        },
      ];
    return ["DEFAULT", `GET /orders/${1000 + at} 200 ${3 + (at % 40)} ms`];
  });

/** Stores an object through a signed URL. */
export const storeObject = async (
  { client }: Pick<MemoryConsole, "client">,
  volume: string,
  object: string,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<void> => {
  const grant = await client.grantUpload({ volume, object });
  if (!("url" in grant)) throw new Error("the upload has parts");
  const response = await fetch(grant.url, { method: "PUT", body });
  if (!response.ok) throw new Error(`the storage responded with status ${response.status}`);
};

/** Adds objects to a volume, and a volume to the trash. */
const seedVolumes = async (served: MemoryConsole): Promise<void> => {
  await storeObject(served, "orders", "README.md", "# Orders by month\n\nOne file per month.\n");
  await storeObject(served, "orders", "reports/figures.csv", "month,orders\n2026-10,120\n2026-11,97\n");
  await storeObject(served, "orders", "reports/2025/archive.csv", "month,orders\n");
  await served.client.createVolume({ name: "old-orders" });
  await served.client.deleteVolume({ name: "old-orders" });
};

/** Adds usage lines of models, and charges of the platform in two currencies. */
const spend = async (served: MemoryConsole): Promise<void> => {
  const lines = Array.from({ length: 40 }, (_, at): Line => {
    const [user, model] = [["ada", "grace", "<i>linus</i>"][at % 3], at % 4 === 0 ? "large-model" : "small-model"];
    return [
      "INFO",
      {
        level: "usage",
        model,
        user_id: user,
        chat_id: `chat-${at % 7}`,
        input: 900 + at * 37,
        output: 120 + at * 11,
        cached: at * 20,
        cost: at % 4 === 0 ? 0.0625 : 0.0031,
      },
    ];
  });
  await writeLines(served, "shop-api", lines);
  const today = new Date().toISOString().slice(0, 10);
  const charge = (service: string, cost: string, currency: string) => ({
    usage_start_time: `${today}T00:00:00Z`,
    usage_end_time: `${today}T23:59:59Z`,
    service_description: "Compute",
    sku_description: "vCPU",
    usage_amount: "1",
    usage_unit: "hour",
    cost,
    currency,
    resource_name: service,
  });
  served.memory.charge(
    served.account,
    charge("shop-api", "1.75", "EUR"),
    charge("image-resizer", "0.4", "EUR"),
    charge("nightly-report", "0.08", "USD"),
  );
};

/** Adds an active, a failing and a pending domain. */
const addDomains = async ({ client, memory: { dns } }: MemoryConsole): Promise<void> => {
  const [active, failing] = await Promise.all(
    ["shop.example.com", "old-shop.example.com", "example.org"].map((domain) =>
      client.addDomain({ domain, name: "shop-api" }),
    ),
  );
  for (const { domain, records } of [active, failing] as NonNullable<typeof active>[]) {
    dns.add(...records);
    await client.checkDomain({ domain });
  }
  dns.remove("old-shop.example.com");
  dns.add({ type: "A", name: "old-shop.example.com", value: "203.0.113.7" });
  await client.checkDomain({ domain: "old-shop.example.com" });
};

/** Fills the platform. Returns the ids of a deploy that failed and of one that succeeded. */
export const seed = async (served: MemoryConsole): Promise<{ readonly failed: string; readonly done: string }> => {
  await served.deploy("shop-api", { env: { LOG_LEVEL: "info" }, message: "First version" });
  await served.deploy("shop-api", {
    env: { LOG_LEVEL: "debug", CACHE: "redis" },
    memory: "2Gi",
    message: "Add the cache",
  });
  const done = await served.deploy("shop-api", {
    env: { LOG_LEVEL: "info", CACHE: "redis", PAYMENT_URL: "https://pay.example" },
    volumes: { "/data": "orders", "/config": { name: "settings", read_only: true } },
    schedule: "*/15 * * * *",
    timezone: "Europe/Berlin",
    message: "Charge through the new provider, and read the settings from a volume",
  });
  await served.deploy("image-resizer", { memory: "512Mi" });
  await served.deploy("nightly-report", { schedule: "0 3 * * *", timezone: "UTC" });
  const failed = await served.deploy("broken-import");
  measureHour(served, "shop-api", 40);
  measureHour(served, "image-resizer", 8);
  await spend(served);
  await writeLines(served, "shop-api", ordinaryLines(120));
  await seedVolumes(served);
  await addDomains(served);
  return { failed, done };
};
