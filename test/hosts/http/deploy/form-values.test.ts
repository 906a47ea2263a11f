/** The values of form fields: how text is converted, limits, defaults, and which values count as absent. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { offered } from "../../../../core/domain/wire/capabilities.ts";
import { sourceOf } from "../../../support/archives/archives.ts";
import { recordsOf, serveMemory } from "../../../support/http/api.ts";
import { problemsOf } from "../../../support/http/refusals.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory({ capabilities: { cron: { schedules: offered(), fire: offered(), max_seconds: 1800 } } });
});
afterAll(() => api[Symbol.asyncDispose]());

const good = { function_name: "app", volumes: "{}" };
const archive = sourceOf({ "index.js": "run()" });

const deployed = async (fields: Readonly<Record<string, string>>) => {
  const answer = await api.deploy({ ...good, ...fields }, archive);
  expect(answer.status, answer.text).toBe(200);
  expect(recordsOf(answer).at(-1)).toMatchObject({ status: "DONE" });
  const [listed] = (await api.call("GET", "/v1/deployment/list")).json;
  return listed;
};

test("omitted fields have the contract's defaults", async () => {
  expect(await deployed({})).toMatchObject({
    port: 8080,
    memory: "1Gi",
    session_affinity: false,
    use_http2: false,
    timeout: 600,
    cpu: 1,
    concurrency: 80,
    max_instances: 0,
    volumes: {},
    schedule: null,
    env: [],
  });
});

describe("text is converted", () => {
  const values: readonly [string, string, unknown][] = [
    ["port", "1", 1],
    ["port", "65535", 65_535],
    ["port", "+80", 80],
    ["timeout", "1", 1],
    ["timeout", "3600", 3600],
    ["concurrency", "1", 1],
    ["concurrency", "1000", 1000],
    ["max_instances", "0", 0],
    ["max_instances", "200", 200],
    ["memory", "128Mi", "128Mi"],
    ["memory", "2G", "2G"],
    ["memory", "0.5Gi", "512Mi"],
    ["session_affinity", "true", true],
    ["session_affinity", "False", false],
    ["session_affinity", "1", true],
    ["use_http2", "TRUE", true],
    ["use_http2", "0", false],
    ["env", '{"B":"1","A":"2"}', ["A", "B"]],
    ["env", "{}", []],
    ["schedule", "0  9 * * 1-5", { cron: "0 9 * * 1-5", timezone: "UTC" }],
    ["schedule", '{"cron":"0 9 * * *","timezone":"Europe/Paris"}', { cron: "0 9 * * *", timezone: "Europe/Paris" }],
  ];
  test.each(values)("%s = %j", async (field, text, value) => {
    expect((await deployed({ [field]: text }))[field]).toEqual(value);
  });
});

describe("absent values", () => {
  test.each(["", "null", "{}"])("schedule = %j removes the schedule", async (schedule) => {
    expect((await deployed({ schedule: "0 9 * * *" })).schedule).not.toBeNull();
    expect((await deployed({ schedule })).schedule).toBeNull();
  });

  test("an omitted schedule removes it too: a deploy is a complete declaration", async () => {
    expect((await deployed({ schedule: "0 9 * * *" })).schedule).not.toBeNull();
    expect((await deployed({})).schedule).toBeNull();
  });

  test("an empty time zone is UTC; without a schedule it is checked, then ignored", async () => {
    expect((await deployed({ schedule: "0 9 * * *", timezone: "" })).schedule.timezone).toBe("UTC");
    expect((await deployed({ timezone: "Europe/Paris" })).schedule).toBeNull();
    const form = { ...good, timezone: "Mars/Phobos" };
    expect(problemsOf(await api.deploy(form, archive))).toEqual(["body.timezone: value_error"]);
  });

  test("the two fields of the time zone must agree", async () => {
    const schedule = '{"cron":"0 9 * * *","timezone":"Europe/Paris"}';
    expect((await deployed({ schedule, timezone: "Europe/Paris" })).schedule.timezone).toBe("Europe/Paris");
    const answer = await api.deploy({ ...good, schedule, timezone: "UTC" }, archive);
    expect(problemsOf(answer)).toEqual(["body.timezone: value_error"]);
  });

  test("an omitted env keeps the current one, {} clears it, and other values replace it", async () => {
    expect((await deployed({ env: '{"A":"1","B":"2"}' })).env).toEqual(["A", "B"]);
    expect((await deployed({})).env).toEqual(["A", "B"]);
    expect((await deployed({ env: '{"C":"3"}' })).env).toEqual(["C"]);
    expect((await deployed({ env: "{}" })).env).toEqual([]);
  });
});

test("`_` is read as `-`, and the first record says so", async () => {
  const answer = await api.deploy({ function_name: "my_other_app", volumes: "{}" }, archive);
  expect(recordsOf(answer)[0]).toMatchObject({ status: "BUILDING", message: "Deploying as 'my-other-app'", seq: 1 });
});
