/** After any change of the state, applying it makes the engine run the stored services, and touches nothing else. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Changes,
  changesTo,
  type RunningService,
  type WantedService,
} from "../../../../adapters/local/engine/reconcile.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { runs } from "../../../support/vitest/runs.ts";
import { day, names, owners, templateOf } from "../state/model.ts";

const service = fc.record({
  name: fc.constantFrom(...(names as readonly DeploymentName[])),
  owner: fc.constantFrom(...(owners as readonly AccountId[])),
  createdAt: fc.constantFrom<Timestamp>(day(0), day(1)),
  revision: fc.constantFrom("app-00001", "app-00002", null),
});

const state = fc.uniqueArray(service, { selector: ({ name }) => name }).map((all) =>
  all.map(
    ({ name, owner, createdAt, revision }): WantedService => ({
      name,
      owner,
      createdAt,
      serving: revision === null ? null : { id: revision, template: templateOf(name, owner, "image") },
    }),
  ),
);

type Running = Map<DeploymentName, RunningService>;

const applied = ({ removed, added, served }: Changes, before: Running): Running => {
  const after = new Map(before);
  for (const name of removed) expect(after.delete(name)).toBe(true);
  for (const { name, owner, createdAt } of added) {
    expect(after.has(name)).toBe(false);
    after.set(name, { owner, createdAt, revision: null });
  }
  for (const { wanted, revision } of served) {
    const { name, owner, createdAt } = wanted;
    expect(after.get(name)).toMatchObject({ owner, createdAt });
    after.set(name, { owner, createdAt, revision: revision.id });
  }
  return after;
};

test("the changes lead from any state to any other", () => {
  fc.assert(
    fc.property(state, state, (first, second) => {
      const running = applied(changesTo(first, new Map()), new Map());
      const changes = changesTo(second, running);
      const now = applied(changes, running);
      for (const { name, owner, createdAt, serving } of second) {
        expect(now.get(name)).toMatchObject({ owner, createdAt });
        // Only a rollout that commits changes the serving revision. Without one, the former revision keeps serving.
        if (serving !== null) expect(now.get(name)?.revision).toBe(serving.id);
      }
      expect(now.size).toBe(second.length);
      expect(changesTo(second, now)).toEqual({ removed: [], added: [], served: [] });
    }),
    runs(500),
  );
});

test("a service that was deleted and created again is removed and added, although its revision has the same id", () => {
  const [name] = names as [DeploymentName];
  const [owner] = owners as [AccountId];
  const serving = { id: `${name}-00001`, template: templateOf(name, owner, "image") };
  const wanted = { name, owner, createdAt: day(1), serving };
  const running = new Map([[name, { owner, createdAt: day(0), revision: serving.id }]]);
  expect(changesTo([wanted], running)).toEqual({
    removed: [name],
    added: [wanted],
    served: [{ wanted, revision: serving }],
  });
});
