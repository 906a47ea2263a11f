/** How a declaration is rendered for Cloud Run. */
import { expect, test } from "vitest";
import { renderMinimum, renderTemplate } from "../../../../adapters/gcp/deploy/render.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { templateFor } from "../../../contracts/support.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";

const needs = { identity: "id@p.iam.gserviceaccount.com", revision: "app-1", listenDeadlineMs: 60_000 };
const template = (more: Partial<ServiceTemplate> = {}) => ({
  ...templateFor(accountOf("acme"), nameOf("app"), "image"),
  ...more,
});
const rendered = (more: Partial<ServiceTemplate>, listenDeadlineMs = 60_000) => {
  const whole = renderTemplate(template(more), { ...needs, listenDeadlineMs });
  return { ...whole, container: whole.containers?.[0] };
};

test("renders every declared field", () => {
  const more = {
    port: 3000,
    cpu: 4,
    memory: 2 * 1024 ** 3,
    timeout: 61,
    concurrency: 7,
    maxInstances: 3,
    env: { A: "b" },
  };
  expect(rendered({ ...more, sessionAffinity: true, useHttp2: true })).toMatchObject({
    revision: "app-1",
    serviceAccount: needs.identity,
    timeout: { seconds: 61 },
    maxInstanceRequestConcurrency: 7,
    scaling: { maxInstanceCount: 3 },
    sessionAffinity: true,
    container: {
      image: "image",
      ports: [{ name: "h2c", containerPort: 3000 }],
      resources: { limits: { cpu: "4", memory: "2Gi" }, cpuIdle: true, startupCpuBoost: true },
      env: [
        { name: "A", value: "b" },
        { name: "CRON_TOKEN", value: "token-of-app" },
        { name: "PORTSIDE_VOLUMES", value: "{}" },
      ],
    },
  });
  expect(rendered({}).container?.ports).toEqual([{ name: "http1", containerPort: 8080 }]);
});

test.each([
  [1500, { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 1 }],
  [60_000, { periodSeconds: 60, failureThreshold: 1 }],
  [240_000, { periodSeconds: 240, failureThreshold: 1 }],
  [300_000, { periodSeconds: 150, failureThreshold: 2 }],
  [3_600_000, { periodSeconds: 200, failureThreshold: 3 }],
])("a service has %i ms to listen", (millis, probe) => {
  expect(rendered({}, millis).container?.startupProbe).toMatchObject(probe);
});

const health = { path: "/healthz?deep=1", interval: 20, timeout: 5, failures: 2 };

test.each([
  [1500, { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 1 }],
  [63_000, { periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 12 }],
  [240_000, { periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 48 }],
  [3_600_000, { periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 120 }],
])("a service has %i ms to pass its health check", (millis, probe) => {
  const httpGet = { path: "/healthz?deep=1", port: 8080 };
  expect(rendered({ health }, millis).container?.startupProbe).toEqual({ httpGet, ...probe });
});

test("renders a health check as a liveness probe too, with its host", () => {
  const { container } = rendered({ port: 3000, health: { ...health, host: "example.com" } });
  const httpGet = { path: "/healthz?deep=1", port: 3000, httpHeaders: [{ name: "Host", value: "example.com" }] };
  expect(container?.startupProbe?.httpGet).toEqual(httpGet);
  expect(container?.livenessProbe).toEqual({ httpGet, periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 2 });
});

test("removes the liveness probe with the health check, and keeps one that was set by hand", () => {
  const probeAfter = (present: Parameters<typeof renderTemplate>[2], former: ServiceTemplate) =>
    renderTemplate(template(), needs, present, former).containers?.[0]?.livenessProbe;
  const checked = template({ health });
  expect(probeAfter(renderTemplate(checked, needs), checked)).toBeUndefined();
  const byHand = { httpGet: { path: "/alive" }, periodSeconds: 30 };
  expect(probeAfter({ containers: [{ image: "image", livenessProbe: byHand }] }, template())).toEqual(byHand);
});

test("sets a minimum of instances, clears it, and keeps one that was set by hand", () => {
  const byHand = { minInstanceCount: 4, scalingMode: "AUTOMATIC" as const };
  const kept = template({ minInstances: 2 });
  expect(renderMinimum(kept, [], byHand)).toEqual({ scaling: { ...byHand, minInstanceCount: 2 } });
  expect(renderMinimum(template(), [kept], { minInstanceCount: 2 })).toEqual({ scaling: { minInstanceCount: 0 } });
  expect(renderMinimum(template(), [template()], byHand)).toEqual({});
});

test("mounts and little memory set the generation; otherwise it stays unchanged", () => {
  const mounts = [{ path: "/d", volume: "v", bucket: "b", readOnly: true }] as unknown as ServiceTemplate["mounts"];
  const memory = 1024 ** 3;
  expect(rendered({ mounts, memory }).executionEnvironment).toBe("EXECUTION_ENVIRONMENT_GEN2");
  expect(rendered({ memory: 256 * 1024 ** 2 }).executionEnvironment).toBe("EXECUTION_ENVIRONMENT_GEN1");
  expect(rendered({ memory }).executionEnvironment).toBeUndefined();
  expect(rendered({ memory, cpu: 0.5 }).executionEnvironment).toBe("EXECUTION_ENVIRONMENT_GEN1");
  const byHand = { executionEnvironment: "EXECUTION_ENVIRONMENT_GEN2" } as const;
  expect(renderTemplate(template({ memory }), needs, byHand).executionEnvironment).toBe("EXECUTION_ENVIRONMENT_GEN2");
});

test("drops the generation that only the former declaration required", () => {
  const small = template({ memory: 256 * 1024 ** 2 });
  const mounted = template({
    mounts: [{ path: "/d", volume: "v", bucket: "b", readOnly: true }] as unknown as ServiceTemplate["mounts"],
  });
  const next = template({ memory: 1024 ** 3 });
  const generationAfter = (former: ServiceTemplate, by: ServiceTemplate) =>
    renderTemplate(next, needs, renderTemplate(by, needs), former).executionEnvironment;
  expect(generationAfter(small, small)).toBeUndefined();
  expect(generationAfter(mounted, mounted)).toBeUndefined();
  // The former declaration required the first generation, so someone set the second by hand.
  expect(generationAfter(small, mounted)).toBe("EXECUTION_ENVIRONMENT_GEN2");
});

test("sets the mounts variable again for each declaration", () => {
  const mount = (path: string, bucket: string) => ({ path, volume: "v", bucket, readOnly: false });
  const mounts = [mount("/d", "b1"), mount("/e", "b2")] as unknown as ServiceTemplate["mounts"];
  const first = rendered({ mounts });
  const mountsOf = ({ container }: Pick<typeof first, "container">) =>
    container?.env?.filter(({ name }) => name === "PORTSIDE_VOLUMES").map(({ value }) => JSON.parse(value ?? ""));
  expect(mountsOf(first)).toEqual([{ "/d": "b1", "/e": "b2" }]);
  const { container: _container, ...present } = first;
  const next = renderTemplate(template({ mounts: [] }), needs, present, template({ mounts }));
  expect(mountsOf({ container: next.containers?.[0] })).toEqual([{}]);
});
