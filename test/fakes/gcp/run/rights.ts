/** The rights of service identities on the fake Cloud Run, from the state of the project's other fakes. */

import { type AdverseBehaviors, PROPAGATION_MS } from "../adverse.ts";
import type { FakeIam } from "../iam.ts";
import type { StorageWorld } from "../storage/world.ts";
import type { FakeRunDeps } from "./services.ts";

export const runRights = (
  adverse: AdverseBehaviors,
  iam: FakeIam,
  storage: StorageWorld,
): Pick<Required<FakeRunDeps>, "actsAs" | "mayMount"> => ({
  actsAs: (email) => iam.acts(email),
  mayMount: (email, bucket) => {
    const grantedAt = storage.live.get(bucket)?.grantedAt.get(`serviceAccount:${email}`);
    return grantedAt !== undefined && (!adverse.has("grant_late") || storage.now() - grantedAt >= PROPAGATION_MS);
  },
});
