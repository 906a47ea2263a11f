/** Declarations by example: defaults, the normal form, and every kind of issue. */
import { describe, expect, test } from "vitest";
import { GiB } from "../../../../core/domain/accounts/limits.ts";
import { type DeclareContext, declareDeploy } from "../../../../core/domain/deploy/declaration.ts";
import type { Capabilities } from "../../../../core/domain/wire/capabilities.ts";
import { issue } from "../../../../core/domain/wire/issue.ts";
import { cloudRunLikeCatalogue } from "../../../arbitraries/index.ts";
import { capabilitiesWith, fullCapabilities, minimalCapabilities } from "../../../support/providers/capabilities.ts";

const sent: DeclareContext = { capabilities: fullCapabilities, archive: { issues: [] } };
const least = { function_name: "my_app", volumes: "{}" };

const declared = (fields: Readonly<Record<string, unknown>>, context: Partial<DeclareContext> = {}) =>
  declareDeploy({ ...least, ...fields }, { ...sent, ...context })._unsafeUnwrap();

const issuesOf = (fields: Readonly<Record<string, unknown>>, context: Partial<DeclareContext> = {}) =>
  declareDeploy({ ...least, ...fields }, { ...sent, ...context })
    ._unsafeUnwrapErr()
    .map(({ path, type }) => [path.join("."), type]);

describe("a complete declaration", () => {
  test("fills in the defaults of a minimal request", () => {
    expect(declared({})).toEqual({
      name: "my-app",
      writtenName: "my_app",
      port: 8080,
      memory: GiB,
      cpu: 1,
      timeout: 600,
      concurrency: 80,
      maxInstances: 0,
      sessionAffinity: false,
      useHttp2: false,
      mounts: [],
      schedule: null,
      source: { kind: "archive" },
    });
  });

  test("form text and JSON values give the same declaration", () => {
    const form = declared({
      port: "3000",
      memory: "2Gi",
      session_affinity: "True",
      use_http2: "0",
      volumes: '{"/data": "vol"}',
      schedule: "0 9 * * *",
      timezone: "Europe/Paris",
      env: '{"A": "1"}',
    });
    const json = declared({
      port: 3000,
      memory: "2Gi",
      session_affinity: true,
      use_http2: false,
      volumes: { "/data": "vol" },
      schedule: { cron: "0 9 * * *", timezone: "Europe/Paris" },
      env: { A: "1" },
    });
    expect(form).toEqual(json);
    expect(json).toMatchObject({ port: 3000, sessionAffinity: true, env: { A: "1" } });
  });

  test("env has three meanings: absent keeps, {} clears, an object replaces", () => {
    expect(declared({})).not.toHaveProperty("env");
    expect(declared({ env: "{}" }).env).toEqual({});
  });

  test("idle has three meanings: absent keeps, null clears, a mode replaces", () => {
    expect(declared({})).not.toHaveProperty("idle");
    expect(declared({ idle: null }).idle).toBeNull();
    expect(declared({ idle: "null" }).idle).toBeNull();
    expect(declared({ idle: "freeze" }).idle).toBe("freeze");
    expect(declared({ idle: "stop" }).idle).toBe("stop");
    expect(issuesOf({ idle: "frozen" })).toEqual([["idle", "value_error"]]);
  });

  test("min_instances has three meanings: absent keeps, 0 and null clear, a number replaces", () => {
    expect(declared({})).not.toHaveProperty("minInstances");
    for (const cleared of [0, "0", null, "null"]) expect(declared({ min_instances: cleared }).minInstances).toBe(0);
    expect(declared({ min_instances: "2", max_instances: 2 }).minInstances).toBe(2);
    expect(issuesOf({ min_instances: 3, max_instances: 2 })).toEqual([["min_instances", "less_than_equal"]]);
    const preset = { ...fullCapabilities, instances: { preset: 4, max: 9 } };
    expect(declared({ min_instances: 4 }, { capabilities: preset }).minInstances).toBe(4);
    expect(issuesOf({ min_instances: 5 }, { capabilities: preset })).toEqual([["min_instances", "less_than_equal"]]);
  });

  test("health has three meanings: absent keeps, null clears, an object replaces", () => {
    expect(declared({})).not.toHaveProperty("health");
    expect(declared({ health: null }).health).toBeNull();
    expect(declared({ health: "null" }).health).toBeNull();
    const preset = { path: "/", interval: 10, timeout: 5, failures: 3 };
    expect(declared({ health: '{"path": "/"}' }).health).toEqual(preset);
    expect(declared({ health: { path: "/", interval: 3 } }).health).toEqual({ ...preset, interval: 3, timeout: 3 });
    const all = { path: "/a?b=c", interval: 60, timeout: 60, failures: 1, host: "example.com:80" };
    expect(declared({ health: all }).health).toEqual(all);
  });

  test("reports every invalid value of a health check with its path", () => {
    const wrong = { interval: 0, timeout: "5", failures: 11, host: "a b", retries: 2 };
    expect(issuesOf({ health: wrong })).toEqual([
      ["health.retries", "extra_forbidden"],
      ...["path", "interval", "timeout", "failures", "host"].map((name) => [`health.${name}`, "value_error"]),
    ]);
    expect(issuesOf({ health: { path: "/", interval: 4, timeout: 5 } })).toEqual([["health.timeout", "value_error"]]);
  });

  test("the archive is required, except for a plan", () => {
    expect(issuesOf({}, { archive: undefined })).toEqual([["source_archive", "missing"]]);
    expect(declared({}, { archive: undefined, sourceOptional: true })).not.toHaveProperty("source");
  });

  test("an object of a volume may be the source instead", () => {
    const none = { archive: undefined };
    expect(declared({ source_object: "vol/a/b.tar.gz" }, none).source).toEqual({
      kind: "object",
      volume: "vol",
      path: "a/b.tar.gz",
    });
    expect(issuesOf({ source_object: "vol/x" })).toEqual([["source_archive", "value_error"]]);
    for (const odd of ["vol", "vol/", "/x"])
      expect(issuesOf({ source_object: odd }, none)).toEqual([["source_object", "value_error"]]);
    for (const absent of ["", null, undefined, "null"])
      expect(declared({ source_object: absent }).source?.kind).toBe("archive");
  });
});

describe("rejects", () => {
  test("reports every broken rule together", () => {
    const refused = [issue(["source_archive"], "the archive is empty", "archive_invalid")];
    expect(
      issuesOf(
        {
          function_name: "",
          port: "x",
          volumes: "",
          schedule: "@daily",
          timezone: "Mars",
          cpus: 2,
          env: '{"PORT":"1"}',
        },
        { archive: { issues: refused } },
      ),
    ).toEqual([
      ["cpus", "extra_forbidden"],
      ["function_name", "string_too_short"],
      ["port", "int_parsing"],
      ["volumes", "missing"],
      ["env.PORT", "value_error"],
      ["schedule", "value_error"],
      ["timezone", "value_error"],
      ["source_archive", "archive_invalid"],
    ]);
  });

  test("a time zone that conflicts with an invalid schedule is reported too", () => {
    const schedule = { cron: "@daily", timezone: "Europe/Paris" };
    expect(issuesOf({ schedule, timezone: "Europe/Berlin" })).toEqual([
      ["schedule.cron", "value_error"],
      ["timezone", "value_error"],
    ]);
  });

  test("an invalid source object counts as a source", () => {
    for (const object of [5, "vol"])
      expect(issuesOf({ source_object: object }, { archive: undefined })).toEqual([["source_object", "value_error"]]);
    const archive = { issues: [issue(["source_archive"], "the archive is empty", "archive_invalid")] };
    expect(issuesOf({ source_object: "vol" }, { archive })).toEqual([
      ["source_object", "value_error"],
      ["source_archive", "archive_invalid"],
    ]);
  });

  test("a message states the problem and a valid value", () => {
    const messages = (fields: Record<string, unknown>) =>
      declareDeploy({ ...least, ...fields }, sent)
        ._unsafeUnwrapErr()
        .map(({ message }) => message);
    expect(messages({ port: "70000" })).toEqual(["must be an integer from 1 to 65535; got 70000"]);
    expect(messages({ memory: "1 GB" })).toEqual(["must be a quantity such as '512Mi', '1Gi' or '2G'"]);
    expect(messages({ use_http2: "yes" })).toEqual(['must be true or false; got "yes"']);
    expect(messages({ memroy: "1Gi" })).toEqual(["unknown field 'memroy'; did you mean 'memory'?"]);
  });

  test("reserved names are a setting", () => {
    expect(issuesOf({ function_name: "www" })).toEqual([["function_name", "value_error"]]);
    expect(declared({ function_name: "www" }, { reserved: ["mine"] }).name).toBe("www");
    expect(issuesOf({ function_name: "mi_ne" }, { reserved: ["mi-ne"] })).toEqual([["function_name", "value_error"]]);
  });

  test("more instances than the account's quota", () => {
    const limits = {
      deployments: 50,
      instances: 3,
      volumes: 1,
      domains: 1,
      buildsAtOnce: 1,
      uploadsAtOnce: 1,
      sqlAtOnce: 1,
      requestsPerMinute: 1,
    };
    expect(declared({ max_instances: 3 }, { limits }).maxInstances).toBe(3);
    expect(issuesOf({ max_instances: 4 }, { limits })).toEqual([["max_instances", "quota_exceeded"]]);
    expect(issuesOf({ max_instances: 201 })).toEqual([["max_instances", "quota_exceeded"]]);
  });
});

describe("limits of the provider that are lower than the contract's", () => {
  const small = {
    ...fullCapabilities,
    resources: [{ cpu: 2, memory: { min: GiB, max: 3 * GiB, step: 2 * GiB } }],
    instances: { preset: 1, max: 5 },
  };

  test("names the provider's maximum", () => {
    const refused = declareDeploy(
      { ...least, cpu: 3, memory: "4Gi", max_instances: 6 },
      { ...sent, capabilities: small },
    );
    expect(refused._unsafeUnwrapErr()).toEqual([
      { path: ["cpu"], message: "must be at most 2 on this provider", type: "less_than_equal" },
      { path: ["memory"], message: "must be at most 3Gi on this provider", type: "less_than_equal" },
      { path: ["max_instances"], message: "must be at most 5 on this provider", type: "less_than_equal" },
    ]);
    expect(declared({ cpu: 2, memory: "3Gi", max_instances: 5 }, { capabilities: small }).cpu).toBe(2);
  });

  test("a CPU with which the provider mounts no volumes", () => {
    const capabilities = capabilitiesWith(cloudRunLikeCatalogue);
    const refused = declareDeploy({ ...least, cpu: 0.5, volumes: { "/data": "vol" } }, { ...sent, capabilities });
    expect(refused._unsafeUnwrapErr()).toEqual([
      {
        path: ["cpu"],
        message: "must be at least 1 on this provider if the service mounts volumes",
        type: "greater_than_equal",
      },
    ]);
    expect(declared({ cpu: 0.5 }, { capabilities }).cpu).toBe(0.5);
    // The memory needs a whole CPU, which permits volumes.
    declared({ cpu: 0.5, memory: "2Gi", volumes: { "/data": "vol" } }, { capabilities });
  });

  test("a health check of an HTTP/2 service, if the provider checks over HTTP/1 only", () => {
    const capabilities: Capabilities = { ...fullCapabilities, health: { supported: true, http1_only: true } };
    const both = { health: { path: "/" }, use_http2: true };
    const refused = declareDeploy({ ...least, ...both }, { ...sent, capabilities });
    expect(refused._unsafeUnwrapErr()).toEqual([
      {
        path: ["health"],
        message: "requires HTTP/1 on this provider; set use_http2 to false, or health to null",
        type: "unsupported",
      },
    ]);
    expect(declared(both).useHttp2).toBe(true);
    expect(declared({ ...both, use_http2: false }, { capabilities }).useHttp2).toBe(false);
    expect(declared({ ...both, health: null }, { capabilities }).health).toBeNull();
  });

  test("the host of a health check, if the provider cannot send one", () => {
    const health = { supported: true as const, host: { supported: false as const, reason: "no host here" } };
    const capabilities: Capabilities = { ...fullCapabilities, health };
    const check = { path: "/", host: "example.com" };
    const refused = declareDeploy({ ...least, health: check }, { ...sent, capabilities });
    expect(refused._unsafeUnwrapErr()).toEqual([
      { path: ["health", "host"], message: "no host here; omit host", type: "unsupported" },
    ]);
    expect(declared({ health: { path: "/" } }, { capabilities }).health).toMatchObject({ path: "/" });
  });

  test("a size that no adjustment can reach", () => {
    const gaps = { ...fullCapabilities, resources: [{ cpu: 1, memory: { min: GiB, max: 3 * GiB - 1, step: GiB } }] };
    expect(issuesOf({ memory: "2.5Gi" }, { capabilities: gaps })).toEqual([["memory", "value_error"]]);
  });

  test.each([
    ["volumes", { volumes: '{"/data": "vol"}' }, "no mounts here"],
    ["schedule", { schedule: "0 9 * * *" }, "no schedules here"],
    ["use_http2", { use_http2: "true" }, "no HTTP/2 here"],
    ["source_object", { source_object: "vol/x.tar.gz" }, "no source objects here"],
    ["min_instances", { min_instances: 1 }, "no minimum here; omit min_instances"],
    ["health", { health: { path: "/" } }, "no health checks here; omit health"],
    ["idle", { idle: "stop" }, "no choice of idle here; omit idle"],
  ])("%s is a 422 with the provider's reason if not supported", (field, fields, reason) => {
    const context = {
      capabilities: minimalCapabilities,
      ...(field === "source_object" ? {} : { archive: { issues: [] } }),
    };
    expect(declareDeploy({ ...least, ...fields }, context)._unsafeUnwrapErr()).toEqual([
      { path: [field], message: reason, type: "unsupported" },
    ]);
  });

  test("accepts features that are unused or only not enforced", () => {
    const plain = {
      volumes: "{}",
      schedule: "",
      use_http2: "false",
      source_object: "",
      min_instances: "0",
      health: "null",
      idle: "null",
      session_affinity: "true",
    };
    expect(declared(plain, { capabilities: minimalCapabilities }).sessionAffinity).toBe(true);
  });
});
