/** `parse(render(release))` equals the release, for every release. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { envDigestsOf } from "../../../../adapters/shared/deploy/env-digests.ts";
import { parseRelease, renderRelease } from "../../../../adapters/shared/deploy/release-document.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { release } from "../../../arbitraries/releases.ts";
import { runs } from "../../../support/vitest/runs.ts";

test("rendering and parsing returns the same release, as a document and as JSON text", () => {
  fc.assert(
    fc.property(release(), (one) => {
      const document = renderRelease(one);
      expect(parseRelease(document)).toStrictEqual(one);
      expect(parseRelease(JSON.parse(JSON.stringify(document)))).toStrictEqual(one);
    }),
    runs(300),
  );
});

test("rejects a document that lacks one of its parts", () => {
  fc.assert(
    fc.property(release(), fc.nat(), (one, pick) => {
      const document = renderRelease(one);
      const names = Object.keys(document);
      const { [names[pick % names.length] as keyof typeof document]: _part, ...rest } = document;
      expect(parseRelease(rest)).toBeUndefined();
    }),
    runs(100),
  );
});

test("digests depend on the value, the variable, the deployment, the account and the key", () => {
  const digest = (value: string, owner = "acme", key = "key") =>
    envDigestsOf({ owner: owner as AccountId, name: "app" as DeploymentName, env: { TOKEN: value } }, key)["TOKEN"];
  expect(digest("a")).toBe(digest("a"));
  expect(digest("a")).toMatch(/^hmac:[0-9a-f]{32}$/);
  const all = [digest("a"), digest("b"), digest("a", "other"), digest("a", "acme", "other")];
  const other = envDigestsOf(
    { owner: "acme" as AccountId, name: "other" as DeploymentName, env: { TOKEN: "a" } },
    "key",
  );
  const renamed = envDigestsOf({ owner: "acme" as AccountId, name: "app" as DeploymentName, env: { KEY: "a" } }, "key");
  expect(new Set([...all, ...Object.values(other), ...Object.values(renamed)]).size).toBe(6);
});
