/** Which release a rollback restores, and that it restores exactly that release. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { accountLimits } from "../../../../../core/domain/accounts/limits.ts";
import { planDeploy } from "../../../../../core/domain/deploy/plan.ts";
import type { Release, StoredRelease } from "../../../../../core/domain/deploy/releases/release.ts";
import {
  contentOf,
  declareRelease,
  defaultRollbackTarget,
  describeRollback,
  rollbackProblem,
} from "../../../../../core/domain/deploy/releases/rollback.ts";
import type { ServiceTemplate } from "../../../../../core/domain/deploy/service-template.ts";
import { missing } from "../../../../../core/domain/wire/capabilities.ts";
import { serviceTemplate } from "../../../../arbitraries/index.ts";
import { release, releaseHistory } from "../../../../arbitraries/releases.ts";
import { serviceOf } from "../../../../support/logs/services.ts";
import { fullCapabilities } from "../../../../support/providers/capabilities.ts";
import { runs } from "../../../../support/vitest/runs.ts";

const history = (...restored: readonly (number | null)[]) =>
  restored.map((rolledBackTo, index) => ({ release: index + 1, rolledBackTo }));

test.each([
  ["no releases", [], undefined],
  ["one release", [null], undefined],
  ["two deploys", [null, null], 1],
  ["a rollback from 5 to 4", [null, null, null, null, null, 4], 3],
  ["a second rollback in a row", [null, null, null, null, null, 4, 3], 2],
  ["a rollback to a rollback", [null, null, null, 1, null, 4], undefined],
  ["a deploy after a rollback", [null, null, null, 1, null], 4],
] as const)("after %s, a rollback restores the release before the serving content", (_what, restored, target) => {
  expect(defaultRollbackTarget(history(...restored))?.release).toBe(target);
});

test("after a restart, a rollback restores the release before the content that serves", () => {
  fc.assert(
    fc.property(serviceTemplate(), (template) => {
      const deployed = (number: number, port: number, deployId = String(number)) => ({
        release: number,
        rolledBackTo: null,
        template: { ...template, port, deployId },
      });
      const all = [deployed(1, 3001), deployed(2, 3002), deployed(3, 3002), deployed(4, 3002)];
      expect(defaultRollbackTarget(all)?.release).toBe(1);
      expect(defaultRollbackTarget([...all, deployed(5, 3001)])?.release).toBe(4);
      expect(defaultRollbackTarget([...all, { ...deployed(5, 3001), rolledBackTo: 1 }])).toBeUndefined();
    }),
    runs(50),
  );
});

test("the default target is the release directly before the one that created the serving content", () => {
  fc.assert(
    fc.property(releaseHistory(), (all) => {
      const target = defaultRollbackTarget(all);
      const serving = all.at(-1);
      const content = serving === undefined ? 0 : contentOf(all, serving.release);
      const between = all.filter((one) => one.release < content && one.release > (target?.release ?? 0));
      expect(between).toEqual([]);
      expect(target === undefined || target.release < content).toBe(true);
    }),
    runs(1000),
  );
});

test("repeated rollbacks without a number restore earlier and earlier releases until none remains", () => {
  fc.assert(
    fc.property(releaseHistory(), (all) => {
      const now = [...all];
      const restored: number[] = [];
      for (let left = all.length + 1; left > 0; left--) {
        const target = defaultRollbackTarget(now);
        if (target === undefined) break;
        restored.push(target.release);
        now.push({ release: (now.at(-1)?.release ?? 0) + 1, rolledBackTo: target.release });
      }
      expect(restored).toEqual([...new Set(restored)].sort((a, b) => b - a));
      expect(defaultRollbackTarget(now)).toBeUndefined();
    }),
    runs(500),
  );
});

test("the content of a release comes from a release that is not a rollback", () => {
  fc.assert(
    fc.property(releaseHistory(), (all) => {
      for (const one of all) {
        const content = all.find(({ release: number }) => number === contentOf(all, one.release));
        expect(content?.rolledBackTo).toBeNull();
      }
    }),
    runs(300),
  );
});

/** The capabilities of a provider with one CPU size and memory of any size. */
const capabilities = {
  ...fullCapabilities,
  resources: [{ cpu: 64, memory: { min: 1, max: Number.MAX_SAFE_INTEGER, step: 1 } }],
};
const limits = { ...accountLimits, instances: 1000 };
const context = { capabilities, limits, reserved: [] };

/** Templates with the only size of the provider, without names that are invalid in a request. */
const fitting = serviceTemplate()
  .map((template): ServiceTemplate => ({ ...template, cpu: 64 }))
  .filter(({ env }) => !Object.hasOwn(env, "__proto__"));

const stored = (template: ServiceTemplate, over: Partial<StoredRelease> = {}): StoredRelease => ({
  release: 3,
  uid: "u",
  revision: "app-00003",
  createdAt: "2026-01-01T00:00:00+00:00" as Release["createdAt"],
  createdBy: { kind: "key", id: "k", label: "" },
  message: null,
  sourceDigest: null,
  rolledBackTo: null,
  template,
  hasImage: true,
  envDigests: {},
  ...over,
});

test("planned against any other template, a release restores its own declaration", () => {
  fc.assert(
    fc.property(fitting, serviceTemplate(), (template, other) => {
      const current = serviceOf({ ...other, name: template.name, owner: template.owner });
      const declared = declareRelease(stored(template), context)._unsafeUnwrap();
      const { spec, cronToken } = planDeploy(template.owner, declared, current, capabilities, [], [], template.secrets);
      const { image: _image, deployId: _deployId, cronToken: _token, envAliases: _aliases, ...declaration } = template;
      const mounts = declaration.mounts.map(({ bucket: _bucket, ...mount }) => mount);
      expect(spec).toStrictEqual({ ...declaration, mounts });
      expect(cronToken).toBe(other.cronToken);
    }),
    runs(300),
  );
});

test("a release that exceeds a current quota or needs a missing capability cannot be restored", () => {
  fc.assert(
    fc.property(
      fitting.map(({ minInstances: _min, ...template }) => ({ ...template, maxInstances: 50 })),
      (template) => {
        const lower = { ...context, limits: { ...limits, instances: 49 } };
        expect(declareRelease(stored(template), lower)._unsafeUnwrapErr()).toMatchObject([
          { path: ["max_instances"], type: "quota_exceeded" },
        ]);
        const http2 = { ...context, capabilities: { ...capabilities, http2: missing("no HTTP/2") } };
        expect(declareRelease(stored({ ...template, useHttp2: true }), http2).isErr()).toBe(true);
      },
    ),
    runs(50),
  );
});

test.each([
  { kept: [4, 5, 6], instead: "Roll back to release 4, or deploy" },
  { kept: [1, 6], instead: "Roll back to release 1, or deploy" },
  { kept: [1, 3, 6], instead: "Roll back to release 3, or deploy" },
  { kept: [6], instead: "Deploy" },
])("the message about a pruned image names the nearest release with an image: $kept", ({ kept, instead }) => {
  const all = [1, 2, 3, 4, 5, 6].map((number) => ({ release: number, hasImage: kept.includes(number) }));
  const [template] = fc.sample(serviceTemplate(), 1) as [ServiceTemplate];
  const pruned = stored(template, { release: 2, hasImage: false });
  expect(rollbackProblem(pruned, { volumes: [], trashed: [] }, all)?.message).toBe(
    `The image of release 2 was pruned. ${instead} the source of release 2 again.`,
  );
});

test("a pruned image or a missing volume prevents a rollback, and the message suggests a fix", () => {
  fc.assert(
    fc.property(release(), fc.nat(), (one, pick) => {
      const { mounts } = one.template;
      const volumes = mounts.map(({ volume, bucket }) => ({ name: volume, id: bucket }));
      const state = stored(one.template, { release: 7 });
      expect(rollbackProblem(state, { volumes, trashed: [] }, [state])).toBeUndefined();
      expect(describeRollback(state, volumes)).toHaveLength(1);
      expect(rollbackProblem({ ...state, hasImage: false }, { volumes, trashed: [] }, [])).toMatchObject({
        reason: "image_not_found",
        message: expect.stringContaining("release 7 was pruned"),
      });
      const gone = mounts[pick % Math.max(1, mounts.length)]?.volume;
      if (gone === undefined) return;
      const left = volumes.filter(({ name }) => name !== gone);
      expect(rollbackProblem(state, { volumes: left, trashed: [gone] }, [state])).toMatchObject({
        reason: "volume_unavailable",
        message: expect.stringContaining(`'${gone}', which is in the trash. Restore it with`),
      });
      expect(rollbackProblem(state, { volumes: left, trashed: [] }, [state])?.message).toContain(
        "no longer in the trash",
      );
      const again = volumes.map((volume) => (volume.name === gone ? { ...volume, id: "another" } : volume));
      expect(describeRollback(state, again)[0]).toContain(`'${gone}' was replaced after release 7`);
    }),
    runs(300),
  );
});
