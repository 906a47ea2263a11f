/** A row of the deployment list: the serving revision, otherwise the last attempt (contract 4.3). */
import { describe, expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { GiB } from "../../../../core/domain/accounts/limits.ts";
import { deploymentOf, deploymentSchema } from "../../../../core/domain/deploy/deployment.ts";
import { type ServiceTemplate, shownTemplate, statusOf } from "../../../../core/domain/deploy/service-template.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName, VolumeName } from "../../../../core/domain/wire/names.ts";
import { serviceOf, templateOf } from "../../../support/logs/services.ts";

const template: ServiceTemplate = templateOf({
  name: "app" as DeploymentName,
  owner: "acme" as AccountId,
  port: 8080,
  memory: 2 * GiB,
  cpu: 2,
  timeout: 60,
  concurrency: 10,
  maxInstances: 3,
  sessionAffinity: true,
  useHttp2: false,
  mounts: [{ path: "/data", volume: "vol" as VolumeName, readOnly: true }],
  schedule: { cron: "0 9 * * *", timezone: "UTC" },
  env: { ZED: "s3cret", ALPHA: "s3cret" },
});

const serving = serviceOf(template);
const next = { ...template, port: 9000 };

test("has every field of the contract, by its wire name", () => {
  const row = deploymentOf({
    ...serving,
    lastDeploy: { deployId: "d1", status: "DONE", reason: null, finishedAt: "2026-01-01T00:00:00+00:00" },
  });
  expect(deploymentSchema.parse(row)).toEqual(row);
  expect(row).toEqual({
    name: "app",
    function_name: "app",
    url: "https://app.memory.invalid",
    region: "memory",
    status: "READY",
    revision: "app-00001",
    created_at: "2026-01-01T00:00:00+00:00",
    updated_at: "2026-01-01T00:00:00+00:00",
    port: 8080,
    memory: "2Gi",
    cpu: 2,
    timeout: 60,
    concurrency: 10,
    max_instances: 3,
    session_affinity: true,
    use_http2: false,
    volumes: { "/data": { name: "vol", read_only: true } },
    schedule: { cron: "0 9 * * *", timezone: "UTC" },
    min_instances: 0,
    health: null,
    idle: null,
    env: ["ALPHA", "ZED"],
    last_deploy: { deploy_id: "d1", status: "DONE", reason: null, finished_at: "2026-01-01T00:00:00+00:00" },
  });
});

test("does not contain values of the environment", () => {
  expect(JSON.stringify(deploymentOf(serving))).not.toContain("s3cret");
});

test("shows the latest fire of a scheduled deployment if the provider reports it", () => {
  const lastFire = { at: "2026-01-01T00:00:00+00:00" as Timestamp, status: 404, attempts: 1 };
  const row = deploymentOf({ ...serving, lastFire });
  expect(deploymentSchema.parse(row).cron).toEqual({ last: { ...lastFire, fire_id: null } });
  const requested = deploymentOf({ ...serving, lastFire: { ...lastFire, fireId: "f1" } });
  expect(requested.cron).toEqual({ last: { ...lastFire, fire_id: "f1" } });
  expect(deploymentOf({ ...serving, lastFire: null }).cron).toEqual({ last: null });
  const unscheduled = serviceOf({ ...template, schedule: null });
  expect(deploymentOf({ ...unscheduled, lastFire })).not.toHaveProperty("cron");
});

describe("shows", () => {
  test("the serving fields during a rollout", () => {
    const rolling = { ...serving, rollingOut: next, attempted: next };
    expect(statusOf(rolling)).toBe("DEPLOYING");
    expect(deploymentOf(rolling)).toMatchObject({ status: "DEPLOYING", port: 8080, revision: "app-00001" });
  });

  test("the serving fields after a failed rollout", () => {
    expect(deploymentOf({ ...serving, attempted: next })).toMatchObject({ status: "READY", port: 8080 });
  });

  test("the last attempt if nothing serves", () => {
    const never = { ...serving, serving: [], attempted: next };
    expect(shownTemplate(never)).toBe(next);
    expect(deploymentOf(never)).toMatchObject({ status: "FAILED", port: 9000, revision: null, last_deploy: null });
  });

  test("the first deploy while it runs", () => {
    expect(deploymentOf({ ...serving, serving: [], rollingOut: next, attempted: next })).toMatchObject({
      status: "DEPLOYING",
      revision: null,
      port: 9000,
    });
  });
});

test("reports a broken revision as the reason of its deploy, unless the deploy itself failed", () => {
  const lastDeploy = { deployId: "d1", status: "DONE", reason: null, finishedAt: null } as const;
  const broken = { ...serving, broken: "image_not_found", lastDeploy } as const;
  expect(deploymentOf(broken).last_deploy).toMatchObject({ status: "ERROR", reason: "image_not_found" });
  const failed = { ...broken, lastDeploy: { ...lastDeploy, status: "ERROR", reason: "crashed" } } as const;
  expect(deploymentOf(failed).last_deploy).toMatchObject({ status: "ERROR", reason: "crashed" });
});
