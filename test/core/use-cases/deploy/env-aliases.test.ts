/**
 * Additional names for the platform's variables: an operator's setting, rejected in `env`, and not part of a
 * declaration.
 */
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { deployed, listed, startMemory } from "../../../support/providers/memory-platform.ts";

const settings = { envAliases: { OTHER_TOKEN: "CRON_TOKEN" } };

test("a service gets the aliases, and its deployment does not list them", async () => {
  const platform = startMemory({ settings });
  await deployed(platform, { env: { OWN: "1" } });
  const [service] = (await platform.memory.provider.services.list(platform.principal().account))._unsafeUnwrap();
  expect(service?.serving[0]?.template).toMatchObject({ env: { OWN: "1" }, envAliases: settings.envAliases });
  expect((await listed(platform))[0]?.env).toEqual(["OWN"]);
});

test("a declaration that sets an alias fails with an issue, together with all other issues", async () => {
  const platform = startMemory({ settings });
  const refused = (await platform.submit({ env: { OTHER_TOKEN: "mine", CRON_TOKEN: "mine" } }))._unsafeUnwrapErr();
  expect(refused).toMatchObject({
    kind: "invalid_input",
    issues: [
      { path: ["env", "CRON_TOKEN"], type: "value_error" },
      { path: ["env", "OTHER_TOKEN"], type: "value_error" },
    ],
  });
  const alone = (await platform.submit({ env: '{"OTHER_TOKEN": "mine"}' }))._unsafeUnwrapErr();
  expect(alone).toMatchObject({
    issues: [{ path: ["env", "OTHER_TOKEN"], message: "is set by the platform; choose another name" }],
  });
  expect((await startMemory().submit({ env: { OTHER_TOKEN: "mine" } })).isOk()).toBe(true);
});

test("a deploy after the setting was removed has no aliases", async () => {
  const memory = createMemoryProvider();
  await deployed(startMemory({ memory, settings }));
  const later = startMemory({ memory });
  await deployed(later);
  const [service] = (await memory.provider.services.list(later.principal().account))._unsafeUnwrap();
  expect(service?.serving[0]?.template.envAliases).toBeUndefined();
});

test("rejects an invalid setting at the start", () => {
  const { ports } = createMemoryProvider();
  expect(() => createControlPlane(ports, { envAliases: { "A-B": "PORT" } })).toThrow("envAliases: the alias 'A-B'");
});
