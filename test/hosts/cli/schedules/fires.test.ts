/** The next fires of schedules in `list` and `deploy --plan`, as local times of the schedule's time zone. */
import { expect, test } from "vitest";
import { nextFires } from "../../../../core/domain/schedules/fire-times.ts";
import { instantOfMillis, timestampOf } from "../../../../core/domain/wire/instant.ts";
import { formatLastFire, formatNextFire, formatNextFires } from "../../../../hosts/cli/schedules/fires.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside, terminal } from "../../../support/cli/terminal.ts";
import { serveMemory, type TestApi } from "../../../support/http/api.ts";

const at = (text: string): number => Date.parse(text);

test.each([
  ["0 9 * * *", "Europe/Paris", "2026-11-21T08:30:00Z", "2026-11-22 09:00 Europe/Paris"],
  ["0 9 * * *", "UTC", "2026-11-21T08:30:00Z", "2026-11-21 09:00 UTC"],
  ["0 0 1 1 *", "America/New_York", "2026-11-21T00:00:00Z", "2027-01-01 00:00 America/New_York"],
  // 02:30 is skipped when clocks are put forward.
  ["30 2 * * *", "Europe/Berlin", "2027-03-28T00:00:00Z", "2027-03-28 03:00 Europe/Berlin"],
  ["0 9 * * *", "Mars/Olympus", "2026-11-21T00:00:00Z", "-"],
])("'%s' in %s after %s fires at %s", (cron, timezone, now, words) => {
  expect(formatNextFire({ cron, timezone }, at(now))).toBe(words);
});

test("shows five fires across a clock change", () => {
  expect(formatNextFires({ cron: "0 9 * * 1-5", timezone: "Europe/Paris" }, at("2026-10-22T12:00:00Z"))).toBe(
    "2026-10-23 09:00, 2026-10-26 09:00, 2026-10-27 09:00, 2026-10-28 09:00, 2026-10-29 09:00 (Europe/Paris)",
  );
});

test("shows the last fire with its result", () => {
  const { io } = terminal({ env: { FORCE_COLOR: "1" } });
  const at = timestampOf(instantOfMillis(Date.now() - 3_600_000 * 3));
  const shown = (status: number | null) =>
    formatLastFire(io, { cron: { last: { fire_id: null, at, status, attempts: 1 } } });
  expect(shown(204)).toBe("\u001b[32mstatus 204\u001b[39m, 3 h ago");
  expect(shown(404)).toBe("\u001b[31mstatus 404\u001b[39m, 3 h ago");
  expect(shown(null)).toBe("\u001b[31mno answer\u001b[39m, 3 h ago");
  expect([formatLastFire(io, { cron: { last: null } }), formatLastFire(io, {})]).toEqual(["-", "-"]);
});

const envOf = async (api: TestApi) => ({ PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() });

test("list has columns for fires only if a deployment has a schedule", async () => {
  await using api = await serveMemory();
  const env = await envOf(api);
  const source = nodeSource(helloServer());
  await api.deploy({ function_name: "plain", volumes: "{}" }, source);
  expect((await portside(["list"], { env, columns: 160 })).stdout).not.toContain("NEXT RUN");
  // Fires once a year, so that the next fire stays the same during the test.
  await api.deploy({ function_name: "timed", volumes: "{}", schedule: "0 0 1 1 *", timezone: "Asia/Tokyo" }, source);
  expect((await portside(["list"], { env, columns: 160 })).stdout).toContain("NEXT RUN");
  const [plain, timed] = (await portside(["list"], { env })).stdout
    .split("\n")
    .map((line) => line.split("\t").slice(-2));
  expect(plain).toEqual(["-", "-"]);
  expect(timed).toEqual([expect.stringMatching(/^\d{4}-01-01 00:00 Asia\/Tokyo$/), "-"]);
});

test("deploy --plan shows the next five fires and the time limit of an attempt; --json prints only the plan", async () => {
  await using api = await serveMemory();
  const schedule = { cron: "0 0 1 1 *", timezone: "UTC" };
  const portsideJson = JSON.stringify({ name: "timed", volumes: {}, schedule, timeout: 60 });
  using folder = folderWith({ "package.json": "{}", "portside.json": portsideJson });
  const env = await envOf(api);
  const lines = (await portside(["deploy", folder.path, "--plan"], { env })).stdout.split("\n");
  const from = lines.indexOf("Scheduled: 0 0 1 1 * (UTC)");
  const days = nextFires(schedule, instantOfMillis(Date.now()), 5).map((fire) => timestampOf(fire).slice(0, 10));
  expect(lines[from + 1]).toBe(`Next: ${days.map((day) => `${day} 00:00`).join(", ")} (UTC)`);
  expect(lines[from + 2]).toBe("Time limit of each scheduled call: 60 s");
  const json = JSON.parse((await portside(["deploy", folder.path, "--plan", "--json"], { env })).stdout);
  expect(json.summary.join("\n")).not.toContain("Next:");
});
