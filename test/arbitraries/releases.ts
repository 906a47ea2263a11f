/** Releases, and complete histories of a deployment's releases. */
import fc from "fast-check";
import { releaseLimits } from "../../core/domain/accounts/limits.ts";
import { authorKinds, type Release, type ReleaseAuthor } from "../../core/domain/deploy/releases/release.ts";
import { timestampOf } from "../../core/domain/wire/instant.ts";
import { instant } from "./instants.ts";
import { nastyString } from "./nasty-strings.ts";
import { serviceTemplate } from "./service-templates.ts";

const author = (): fc.Arbitrary<ReleaseAuthor> =>
  fc.record(
    { kind: fc.constantFrom(...authorKinds), id: fc.string(), label: nastyString() },
    { noNullPrototype: true },
  );

/** A release as a platform stores it. */
export const release = (): fc.Arbitrary<Release> =>
  fc.record(
    {
      release: fc.integer({ min: 1, max: 1_000_000 }),
      uid: fc.string({ minLength: 1 }),
      revision: fc.string({ minLength: 1 }),
      createdAt: instant().map(timestampOf),
      createdBy: author(),
      message: fc.option(fc.string({ minLength: 1, maxLength: releaseLimits.messageChars })),
      sourceDigest: fc.option(fc.string({ minLength: 1 })),
      rolledBackTo: fc.option(fc.integer({ min: 1, max: 1_000_000 })),
      template: serviceTemplate(),
    },
    { noNullPrototype: true },
  );

/** The number of a release, and the number of the release that it restored; null unless it is a rollback. */
export type ReleaseStep = Pick<Release, "release" | "rolledBackTo">;

/** Releases in order, with gaps between the numbers. A rollback restores any earlier release. */
export const releaseHistory = (): fc.Arbitrary<readonly ReleaseStep[]> =>
  fc
    .array(fc.record({ gap: fc.integer({ min: 1, max: 3 }), restores: fc.option(fc.nat()) }), { maxLength: 30 })
    .map((steps) => {
      const history: ReleaseStep[] = [];
      for (const { gap, restores } of steps) {
        const restored = restores === null ? undefined : history[restores % Math.max(1, history.length)];
        history.push({ release: (history.at(-1)?.release ?? 0) + gap, rolledBackTo: restored?.release ?? null });
      }
      return history;
    });
