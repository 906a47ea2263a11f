/** The control plane as a whole: construction, default settings, capabilities and readiness. */
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { createControlPlane } from "../../core/control-plane.ts";
import { accountLimits, deployLimits, logLimits } from "../../core/domain/accounts/limits.ts";
import { reservedNames } from "../../core/domain/wire/names.ts";
import { capabilitiesResponseSchema } from "../../core/domain/wire/responses.ts";
import { unavailable } from "../../core/errors.ts";
import { errAsync } from "../../core/result.ts";

test("throws for a provider with a different port version, and names both versions", () => {
  const { ports } = createMemoryProvider();
  const provider = { ...ports.provider, contractVersion: 2 as never };
  expect(() => createControlPlane({ ...ports, provider })).toThrow(
    "version 2 of Portside's ports, but this Portside requires version 1",
  );
});

test("each setting defaults to the contract's value independently of the others", () => {
  const { ports } = createMemoryProvider();
  expect(createControlPlane(ports).settings).toEqual({
    accountLimits,
    deployLimits,
    logLimits,
    reservedNames,
    envAliases: {},
    policies: [],
  });
  const told = createControlPlane(ports, { accountLimits: { deployments: 3 }, deployLimits: { heartbeatMs: 1000 } });
  expect(told.settings.accountLimits).toEqual({ ...accountLimits, deployments: 3 });
  expect(told.settings.deployLimits).toEqual({ ...deployLimits, heartbeatMs: 1000 });
});

test("capabilities combine the provider's record and the account's limits", () => {
  const { ports } = createMemoryProvider();
  const answer = createControlPlane(ports, { accountLimits: { instances: 7 } }).capabilities();
  expect(capabilitiesResponseSchema.parse(JSON.parse(JSON.stringify(answer)))).toEqual(answer);
  expect(answer).toEqual({
    ...ports.provider.capabilities,
    volumes: {
      ...ports.provider.capabilities.volumes,
      flatNamespace: ports.provider.capabilities.volumes.flat_namespace,
      casePreserving: ports.provider.capabilities.volumes.case_preserving,
    },
    limits: {
      deployments: 50,
      instances: 7,
      volumes: 100,
      domains: 50,
      builds_at_once: 2,
      uploads_at_once: 2,
      sql_at_once: 1,
      requests_per_minute: 3000,
    },
  });
});

test("is ready if its backing services are", async () => {
  const { ports } = createMemoryProvider();
  expect((await createControlPlane(ports).check()).isOk()).toBe(true);
  const provider = { ...ports.provider, check: () => errAsync(unavailable("down")) };
  expect((await createControlPlane({ ...ports, provider }).check())._unsafeUnwrapErr().kind).toBe("unavailable");
});

test("is immutable", () => {
  expect(Object.isFrozen(createControlPlane(createMemoryProvider().ports))).toBe(true);
});
