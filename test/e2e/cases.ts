/** The end-to-end cases. */
import { expect } from "vitest";
import type { Capabilities } from "../../core/domain/wire/capabilities.ts";
import { helloServer, nodeSource } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { recordsOf } from "../support/http/api.ts";
import { nodeContractSources } from "../support/providers/contract-sources.ts";
import { eventually } from "../support/vitest/eventually.ts";
import type { E2eCase, Subject } from "./harness.ts";

const text = async (url: string, init?: RequestInit): Promise<string> => (await fetch(url, init)).text();

/** Deploys through the API; returns the URL. */
const up = async (
  { api }: Subject,
  source: Uint8Array,
  fields: Readonly<Record<string, string>>,
  account = "acme",
): Promise<string> => {
  const records = recordsOf(await api.deploy({ volumes: "{}", ...fields }, source, { account }));
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  return records.at(-1).url;
};

const runs = ({ runs: feature }: Capabilities) => feature;

export const e2eCases: readonly E2eCase[] = [
  {
    name: "deploy, follow, call, list, deploy again, remove",
    needs: (all) => [runs(all), all.builders.node],
    run: async (subject) => {
      const { api } = subject;
      const function_name = subject.name();
      const first = recordsOf(await api.deploy({ function_name, volumes: "{}" }, nodeSource(helloServer("one"))));
      const statuses = first.map(({ status }) => status);
      expect([...new Set(statuses)]).toEqual(["BUILDING", "DEPLOYING", "DONE"]);
      expect(first.map(({ seq }) => seq)).toEqual(first.map((_, index) => first[0].seq + index));
      const { url } = first.at(-1);
      expect(await text(url)).toBe("one");
      const listed = async () => (await api.call("GET", "/v1/deployment/list")).json;
      expect(await listed()).toContainEqual(expect.objectContaining({ name: function_name, url, status: "READY" }));
      expect(await up(subject, nodeSource(helloServer("two")), { function_name })).toBe(url);
      await eventually(async () => expect(await text(url)).toBe("two"));
      expect((await api.call("POST", "/v1/deployment/delete", { json: { name: function_name } })).status).toBe(200);
      expect((await listed()).filter(({ name }: { name: string }) => name === function_name)).toEqual([]);
    },
  },
  {
    name: "a failed deploy reports the reason, and the previous revision keeps serving",
    needs: (all) => [runs(all), all.builders.node],
    run: async (subject) => {
      const function_name = subject.name();
      const url = await up(subject, nodeSource(helloServer("well")), { function_name });
      const failed = recordsOf(
        await subject.api.deploy({ function_name, volumes: "{}" }, nodeContractSources.exits(3)),
      ).at(-1);
      expect(failed).toMatchObject({ status: "ERROR", reason: "crashed", exit_code: 3 });
      expect(failed.log_tail.join("\n")).toContain("leaving");
      expect(await text(url)).toBe("well");
    },
  },
  {
    name: "a plan describes a deploy and changes nothing",
    run: async ({ api, name }) => {
      const function_name = name();
      const volumes = JSON.stringify({ "/data": { name: name() } });
      const plan = await api.deploy({ function_name, volumes }, nodeSource(helloServer()), { path: "/v1/deploy/plan" });
      expect(plan.status).toBe(200);
      expect(plan.json).toMatchObject({ action: "create" });
      const { json } = await api.call("GET", "/v1/deployment/list");
      expect(json.map((one: { name: string }) => one.name)).not.toContain(function_name);
      expect((await api.call("GET", "/v1/volume/list")).text).not.toContain(function_name);
    },
  },
  {
    name: "volumes: an object uploaded by URL is in the mount, and a file written in the mount can be downloaded",
    needs: (all) => [runs(all), all.volumes.store, all.volumes.mounts],
    run: async (subject) => {
      const { api } = subject;
      const [function_name, volume] = [subject.name(), subject.name()];
      const volumes = JSON.stringify({ "/data": volume });
      const url = await up(subject, nodeContractSources.files(), { function_name, volumes });
      const grant = async (path: string, json: object) => (await api.call("POST", path, { json })).json.url;
      const put = await fetch(await grant("/v1/volume/upload", { volume, object: "in/a.txt" }), {
        method: "PUT",
        body: "from outside",
      });
      expect(put.ok).toBe(true);
      const folder = await text(`${url}/env?name=PORTSIDE_MOUNTS`).then((mounts) =>
        mounts === "" ? "/data" : JSON.parse(mounts)["/data"],
      );
      await eventually(async () =>
        expect(await text(`${url}/?path=${encodeURIComponent(`${folder}/in/a.txt`)}`)).toBe("from outside"),
      );
      await fetch(`${url}/?path=${encodeURIComponent(`${folder}/out.txt`)}`, { method: "PUT", body: "from within" });
      await eventually(async () =>
        expect(await text(await grant("/v1/volume/download", { volume, path: "out.txt" }))).toBe("from within"),
      );
      expect((await api.call("POST", "/v1/volume/delete", { json: { name: volume } })).status).toBe(409);
    },
  },
  {
    name: "volumes by the command line: create, put, ls, get, delete, restore",
    needs: (all) => [all.volumes.store],
    run: async ({ cli, name }) => {
      using folder = folderWith({ "a.txt": "hello", "b/c.txt": "world" });
      const volume = name();
      const ok = async (...args: string[]) => {
        const ran = await cli(["volume", ...args], { cwd: folder.path });
        expect(ran).toMatchObject({ code: 0 });
        return ran.stdout;
      };
      await ok("create", volume);
      await ok("put", volume, "a.txt");
      expect(await ok("ls", volume)).toContain("a.txt");
      await ok("get", volume, "a.txt", "copy.txt");
      await ok("delete", volume, "-y");
      await ok("restore", volume);
      expect(await ok("ls", volume)).toContain("a.txt");
    },
  },
  {
    name: "logs: a filter finds the lines of a service, each once along the cursor",
    needs: (all) => [runs(all), all.logs.since, all.logs.query],
    run: async (subject) => {
      const function_name = subject.name();
      const source = nodeSource(
        `for (let n = 0; n < 30; n++) console.log(JSON.stringify({ severity: n % 2 ? "ERROR" : "INFO", n })); ${helloServer("x")}`,
      );
      await up(subject, source, { function_name });
      const filter = { deployment_name: function_name, query: "severity>=ERROR jsonPayload.n:*", limit: 4 };
      const seen: number[] = [];
      let since = "2020-01-01T00:00:00Z";
      await eventually(async () => {
        const { json } = await subject.api.call("POST", "/v1/deployment/logs", { json: { ...filter, since } });
        for (const { message } of json.logs) seen.push(JSON.parse(message).n);
        since = json.cursor;
        expect(seen).toHaveLength(15);
      });
      expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, n) => n * 2 + 1));
    },
  },
  {
    name: "SQL and cost over the log of a service",
    needs: (all) => [runs(all), all.sql.queries],
    run: async (subject) => {
      const function_name = subject.name();
      const usage = JSON.stringify({ level: "usage", model: "m", user_id: "ann", input: 1, output: 2, cost: 0.1 });
      await up(subject, nodeSource(`for (let n = 0; n < 3; n++) console.log('${usage}'); ${helloServer("x")}`), {
        function_name,
      });
      const sql = `SELECT COUNT(*) AS n FROM logs WHERE JSON_VALUE(json_payload, '$.level') = 'usage'
        AND JSON_VALUE(resource.labels.service_name) = '${function_name}'`;
      await eventually(async () => {
        const { stdout } = await subject.cli(["sql", sql, "--json"]);
        expect(JSON.parse(stdout)).toEqual([{ n: 3 }]);
      });
      await eventually(async () => {
        const { stdout } = await subject.cli(["cost", function_name, "-s", "1h", "--json"]);
        expect(JSON.parse(stdout).total).toMatchObject({ cost: "0.3", turns: 3 });
      });
    },
  },
  {
    name: "a schedule is listed, replaced by the next deploy, and removed by one without it",
    needs: (all) => [runs(all), all.cron.schedules],
    run: async (subject) => {
      const function_name = subject.name();
      const scheduled = async () =>
        (await subject.api.call("GET", "/v1/deployment/list")).json.find(
          ({ name }: { name: string }) => name === function_name,
        ).schedule;
      const deploy = (fields: Readonly<Record<string, string>>) =>
        up(subject, nodeContractSources.files(), { function_name, ...fields });
      await deploy({ schedule: "0 3 * * *", timezone: "Europe/Berlin" });
      expect(await scheduled()).toEqual({ cron: "0 3 * * *", timezone: "Europe/Berlin" });
      await deploy({ schedule: "*/5 * * * *" });
      expect(await scheduled()).toEqual({ cron: "*/5 * * * *", timezone: "UTC" });
      await deploy({});
      expect(await scheduled()).toBeNull();
    },
  },
  {
    name: "another account cannot see or change a deployment",
    needs: (all) => [runs(all)],
    run: async (subject) => {
      const { api } = subject;
      const function_name = subject.name();
      await up(subject, nodeSource(helloServer("mine")), { function_name });
      const account = "stranger";
      const { json } = await api.call("GET", "/v1/deployment/list", { account });
      expect(json).toEqual([]);
      const refused = await Promise.all([
        api.call("POST", "/v1/deployment/delete", { json: { name: function_name }, account }),
        api.call("POST", "/v1/deployment/logs", { json: { deployment_name: function_name }, account }),
      ]);
      expect(refused.map(({ status }) => status)).toEqual([403, 403]);
      const taken = await api.deploy({ function_name, volumes: "{}" }, nodeSource(helloServer("theirs")), { account });
      expect(taken.status).toBe(403);
    },
  },
  {
    name: "the command line deploys a folder, lists and removes it",
    needs: (all) => [runs(all), all.builders.node],
    run: async ({ cli, name }) => {
      const service = name();
      using folder = folderWith({
        "package.json": JSON.stringify({ type: "module", scripts: { start: "node server.js" } }),
        "server.js": helloServer("by hand"),
      });
      const deployed = await cli(["deploy", folder.path, "--name", service, "--json"]);
      expect(deployed).toMatchObject({ code: 0 });
      const { url } = JSON.parse(deployed.stdout.trim().split("\n").at(-1) as string);
      expect(await text(url)).toBe("by hand");
      expect((await cli(["list"])).stdout).toContain(service);
      expect(await cli(["remove", service, "-y"])).toMatchObject({ code: 0 });
      expect((await cli(["list"])).stdout).not.toContain(service);
    },
  },
];
