/** Readers that wait for the next entry of a log. */
import { expect, test } from "vitest";
import { EntryWaits } from "../../../../adapters/shared/logs/entry-waits.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";

const scope = { owner: "acme" as AccountId, service: "app" as DeploymentName };

const waiting = (waits: EntryWaits, one = scope, signal = new AbortController().signal) => {
  const state = { woken: false };
  void waits.next(one, signal).then(() => {
    state.woken = true;
  });
  return state;
};

const settle = () => new Promise(setImmediate);

test("an entry wakes every reader of its log, and no reader of another log", async () => {
  const waits = new EntryWaits();
  const [one, two] = [waiting(waits), waiting(waits)];
  const others = [
    waiting(waits, { ...scope, owner: "zeta" as AccountId }),
    waiting(waits, { ...scope, service: "web" as DeploymentName }),
  ];
  waits.received(scope);
  await settle();
  expect([one.woken, two.woken]).toEqual([true, true]);
  expect(others).toEqual([{ woken: false }, { woken: false }]);
});

test("a reader waits for an entry after its call, and waits again after it was woken", async () => {
  const waits = new EntryWaits();
  waits.received(scope);
  const first = waiting(waits);
  await settle();
  expect(first.woken).toBe(false);
  waits.received(scope);
  const second = waiting(waits);
  await settle();
  expect([first.woken, second.woken]).toEqual([true, false]);
  waits.received(scope);
  await settle();
  expect(second.woken).toBe(true);
});

test("a reader stops when its signal aborts", async () => {
  const waits = new EntryWaits();
  const stop = new AbortController();
  const [stopped, other] = [waiting(waits, scope, stop.signal), waiting(waits)];
  stop.abort();
  await settle();
  expect([stopped.woken, other.woken]).toEqual([true, false]);
  await waits.next(scope, AbortSignal.abort());
  waits.received(scope);
  await settle();
  expect(other.woken).toBe(true);
});
