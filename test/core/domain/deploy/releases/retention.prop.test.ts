/** Which images and records of a deployment are kept. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { releaseLimits } from "../../../../../core/domain/accounts/limits.ts";
import { keptImages, oldestRecorded, prunedImages } from "../../../../../core/domain/deploy/releases/retention.ts";
import { runs } from "../../../../support/vitest/runs.ts";

/** Releases with distinct numbers, in any order. Several share an image. */
const releases = fc.uniqueArray(
  fc.record({ release: fc.integer({ min: 1, max: 500 }), image: fc.constantFrom(..."abcdefghijklmnop") }),
  { selector: ({ release }) => release, maxLength: 40 },
);
const kept = fc.integer(releaseLimits.kept);

test("keeps the images of the newest releases, and prunes exactly the images that none of them uses", () => {
  fc.assert(
    fc.property(releases, kept, (all, count) => {
      const sorted = [...all].sort((a, b) => b.release - a.release);
      const [needed, pruned] = [keptImages(all, count), prunedImages(all, count)];
      expect([...needed].sort()).toEqual([...new Set(sorted.slice(0, count).map(({ image }) => image))].sort());
      expect([...needed].filter((image) => pruned.has(image))).toEqual([]);
      expect(new Set([...needed, ...pruned])).toEqual(new Set(all.map(({ image }) => image)));
    }),
    runs(500),
  );
});

test("the serving release, which is the newest, always keeps its image", () => {
  fc.assert(
    fc.property(releases, kept, (all, count) => {
      const newest = all.reduce((a, b) => (a.release > b.release ? a : b), { release: 0, image: "" });
      if (all.length > 0) expect(keptImages(all, count)).toContain(newest.image);
    }),
    runs(300),
  );
});

test("a higher number of kept releases never keeps fewer images", () => {
  fc.assert(
    fc.property(releases, kept, kept, (all, a, b) => {
      const more = keptImages(all, Math.max(a, b));
      for (const image of keptImages(all, Math.min(a, b))) expect(more).toContain(image);
    }),
    runs(300),
  );
});

test("keeps the records of at least as many releases as the maximum of kept images", () => {
  expect(releaseLimits.recorded).toBeGreaterThanOrEqual(releaseLimits.kept.max);
  expect(oldestRecorded(150)).toBe(51);
});
