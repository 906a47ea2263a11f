/**
 * kill -9 of the whole platform, and of its server alone, between the redeploys for a new value of a secret. The next
 * server continues the redeploys. Each instance listens only after a second, so the kill interrupts a redeploy.
 */
import { expect, test } from "vitest";
import type { ReleaseRow } from "../../core/domain/deploy/releases/release.ts";
import { nodeSource } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { kill, killServer } from "../support/crashes/crash.ts";
import { Client, end, serve } from "../support/http/served.ts";

const options = { runner: "process", "drain-seconds": "1", "grace-seconds": "2" };
// Other tests find processes by the names of their services.
const names = ["secret-killed-1", "secret-killed-2", "secret-killed-3"];

const source = nodeSource(`
import { createServer } from "node:http";
const server = createServer((_, response) => response.end(process.env.TOKEN));
setTimeout(() => server.listen(process.env.PORT), 1000);
process.on("SIGTERM", () => process.exit(0));
`);

const releaseOf = async (client: Client, name: string): Promise<ReleaseRow | undefined> =>
  (await client.get<{ releases: ReleaseRow[] }>(`/v1/deployment/releases?name=${name}`)).releases[0];

const shownBy = async (client: Client, name: string): Promise<string> => {
  const url = (await client.list()).find((one) => one.name === name)?.url ?? "";
  return (await fetch(url, { headers: { connection: "close" } })).text();
};

test.each(["group", "server"] as const)(
  "after kill -9 of the %s between two redeploys for a new value, the remaining deployments get the value",
  { timeout: 180_000 },
  async (killed) => {
    using folder = folderWith();
    let served = await serve(folder.path, options);
    const apiKey = served.apiKey as string;
    try {
      const before = new Client(served.url, apiKey);
      const set = (name: string, value: string, redeploy = true) =>
        before.post<{ deploys: { deploy_id: string }[] }>("/v1/secret/set", { name, value, redeploy });
      for (const name of ["KEY", "STAGED"]) await set(name, "old");
      const deploy = (name: string, secret: string) =>
        Array.fromAsync(before.deploy(name, source, {}, { env: JSON.stringify({ TOKEN: { secret } }) }));
      for (const name of names) await deploy(name, "KEY");
      await deploy("secret-killed-4", "STAGED");
      await set("STAGED", "new", false);
      const { deploys } = await set("KEY", "new");
      expect(deploys).toHaveLength(names.length);
      await before.records(`/v1/deploy/${deploys[0]?.deploy_id}`);
      if (killed === "server") await killServer(served);
      else {
        await kill(served, true);
        served = await serve(folder.path, options);
      }
      const after = new Client(served.url, apiKey);
      for (const name of names) {
        await expect.poll(async () => (await releaseOf(after, name))?.secrets["KEY"]).toBe(2);
        expect(await shownBy(after, name)).toBe("new");
      }
      expect((await releaseOf(after, names[0] as string))?.created_by.kind).toBe("key");
      expect((await releaseOf(after, names[2] as string))?.created_by.kind).toBe("platform");
      expect((await releaseOf(after, "secret-killed-4"))?.secrets).toEqual({ STAGED: 1 });
      expect(await shownBy(after, "secret-killed-4")).toBe("old");
    } finally {
      await end(served);
    }
  },
);
