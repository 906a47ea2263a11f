/** When the next order of a certificate is due, how failures delay it, and what the owner of the domain sees. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type AttemptState,
  afterAdvice,
  afterFailure,
  afterOwnerCheck,
  afterStart,
  compareUrgency,
  forNewOwner,
  type HostCertificate,
  isAdviceDue,
  isDiscardable,
  isValid,
  noFailures,
  orderDueAt,
  permittingAuthorities,
  withCertificate,
  withoutCertificate,
} from "../../../../core/domain/domains/certificate.ts";
import { domainStatuses } from "../../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { renewableAt, renewalTime, retryLimits } from "../../../../core/domain/domains/renewal.ts";
import { type Instant, instantOfMillis, millisOf } from "../../../../core/domain/wire/instant.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const at = (millis: number): Instant => instantOfMillis(1_800_000_000_000 + millis);
const now = at(0);
const host = "app.example.com" as DomainName;

const moment = fc.integer({ min: -200 * DAY, max: 200 * DAY }).map(at);
const period = fc
  .tuple(fc.integer({ min: -200 * DAY, max: 200 * DAY }), fc.integer({ min: MINUTE, max: 100 * DAY }))
  .map(([start, length]) => ({ start: at(start), end: at(start + length) }));
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const advice = fc.record({ window: period, askAgainAt: moment });
const plan = fc.record({ window: fc.option(period), askAgainAt: moment, random });

const certificate: fc.Arbitrary<HostCertificate> = fc.record({
  host: fc.constant(host),
  life: fc.option(period),
  authority: fc.option(fc.constantFrom("ca.test", "staging.test")),
  renewal: fc.option(plan),
  failures: fc.nat(30),
  orderFailures: fc.constant(0),
  reason: fc.option(fc.constant("The authority refused.")),
  // A correct clock never causes a pause between 8 and 30 days.
  nextAttemptAt: fc.option(moment.filter((one) => one <= at(7 * DAY) || one >= at(30 * DAY))),
  authorityDelays: fc.constant({}),
});

const authorities = ["ca.test"];
const refusal = (delayMs: number | null) => ({
  message: "refused",
  authorityDelaysMs: delayMs === null ? {} : { "ca.test": delayMs },
  isOrder: true,
});
/** When the next order is due after failures. */
const dueAfter = (state: AttemptState, names = authorities) =>
  orderDueAt({ ...withoutCertificate(host), ...state }, names, now);

const max = (one: Instant, other: Instant): Instant => (one > other ? one : other);

test("an order is due immediately, or at the renewal of a valid certificate from a current authority, but never before the next attempt", () => {
  fc.assert(
    fc.property(certificate, (one) => {
      const due = orderDueAt(one, authorities, now);
      const pauseEnd = one.nextAttemptAt !== null && one.nextAttemptAt <= at(8 * DAY) ? one.nextAttemptAt : null;
      if (pauseEnd !== null) expect(due >= pauseEnd).toBe(true);
      const without =
        one.life === null || !isValid(one, now) || one.authority === "staging.test"
          ? now
          : max(
              renewalTime(one.life, one.renewal?.window ?? undefined, one.renewal?.random ?? 0),
              renewableAt(one.life),
            );
      if (pauseEnd === null || pauseEnd <= without) expect(due).toBe(without);
      else expect(due).toBe(pauseEnd);
    }),
  );
});

test("the most urgent hosts are those without a certificate, then those whose certificate expires first", () => {
  fc.assert(
    fc.property(fc.array(certificate), (all) => {
      const ends = all.toSorted(compareUrgency).map(({ life }) => (life === null ? null : millisOf(life.end)));
      const known = ends.filter((end) => end !== null);
      expect(ends).toEqual([...ends.filter((end) => end === null), ...known.toSorted((a, b) => a - b)]);
    }),
  );
});

test("a pause or a delay of advice that began while the clock was a year ahead does not outlast the correction", () => {
  const ahead = at(365 * DAY);
  const failed = afterFailure(withoutCertificate(host), refusal(7 * DAY), ahead);
  const without = { ...withoutCertificate(host), ...failed };
  expect(orderDueAt(without, authorities, ahead)).toBe(at(372 * DAY));
  expect(orderDueAt(without, authorities, now)).toBe(now);
  const life = { start: at(-DAY), end: at(400 * DAY) };
  const renewal = afterAdvice(null, null, 0, ahead);
  const valid = { ...withoutCertificate(host), life, renewal };
  expect([ahead, now].map((time) => isAdviceDue(valid, authorities, time))).toEqual([false, true]);
});

test("a pause of a week is not cut short by a small correction of the clock", () => {
  const failed = afterFailure(withoutCertificate(host), refusal(7 * DAY), now);
  const corrected = at(-30 * MINUTE);
  expect(orderDueAt({ ...withoutCertificate(host), ...failed }, authorities, corrected)).toBe(at(7 * DAY));
});

test("a failure delays the next attempt by 1 minute to 1 day, or up to a week if the authority asks for it", () => {
  fc.assert(
    fc.property(fc.nat(40), fc.option(fc.nat(30 * DAY)), fc.boolean(), (failures, retryAfterMs, isOrder) => {
      const present = { ...noFailures, failures };
      const after = afterFailure(present, { ...refusal(retryAfterMs), isOrder }, now);
      expect(after).toMatchObject({ failures: failures + 1, orderFailures: Number(isOrder), reason: "refused" });
      const delay = millisOf(dueAfter(after)) - millisOf(now);
      const asked = Math.min(retryAfterMs ?? 0, 7 * DAY);
      expect(delay).toBeGreaterThanOrEqual(Math.max(retryLimits.firstMs, asked));
      expect(delay).toBeLessThanOrEqual(Math.max(retryLimits.longestMs, asked));
    }),
  );
});

test("the next request for advice follows after 1 minute to 1 day, and the random point changes only with the window", () => {
  fc.assert(
    fc.property(fc.option(plan), advice, random, fc.boolean(), (known, { window: other, askAgainAt }, next, isSame) => {
      const window = isSame && known !== null ? known.window : other;
      const after = afterAdvice(known, { window, askAgainAt }, next, now);
      expect(after.askAgainAt >= at(MINUTE) && after.askAgainAt <= at(DAY)).toBe(true);
      expect(after.window).toEqual(window);
      if (known === null) expect(after.random).toBe(next);
      else if (isSame) expect(after.random).toBe(known.random);
    }),
  );
});

test("without advice, the plan stays the same, and the next request follows later", () => {
  fc.assert(
    fc.property(fc.option(plan), random, (known, next) => {
      const after = afterAdvice(known, null, next, now);
      expect(after).toMatchObject({ window: known?.window ?? null, random: known?.random ?? next });
      expect(after.askAgainAt).toBe(at(6 * 60 * MINUTE));
    }),
  );
});

test("a check by the owner never extends the pause, and a delay that an authority requires remains", () => {
  fc.assert(
    fc.property(fc.nat(30), fc.option(fc.nat(30 * DAY)), fc.boolean(), (failures, retryAfterMs, wasCorrected) => {
      const present = { ...noFailures, failures, orderFailures: failures };
      const failed = afterFailure(present, refusal(retryAfterMs), now);
      const { authorityDelays } = failed;
      const checked = afterOwnerCheck({ ...withoutCertificate(host), ...failed }, wasCorrected);
      expect(afterOwnerCheck({ ...withoutCertificate(host), ...checked }, false)).toEqual(checked);
      const before = failed.nextAttemptAt as Instant;
      const own = wasCorrected ? now : at(Math.min(8 * MINUTE, millisOf(before) - millisOf(now)));
      expect(dueAfter(checked)).toBe(max(own, authorityDelays["ca.test"] ?? now));
      expect(forNewOwner({ ...withoutCertificate(host), ...failed })).toEqual({ ...noFailures, authorityDelays });
    }),
  );
});

test("the delay of an authority delays neither orders at another one nor their pauses", () => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(7 * DAY), fc.nat(7 * DAY), (failures, one, other) => {
      const failed = afterFailure({ ...noFailures, failures }, refusal(one), now);
      const own = failed.nextAttemptAt as Instant;
      expect(dueAfter(failed, ["ca.test", "other.test"])).toBe(own);
      expect(dueAfter(failed, ["ca.test"])).toBe(max(own, at(one)));
      const again = afterFailure(failed, { ...refusal(null), authorityDelaysMs: { "other.test": other } }, now);
      expect(dueAfter(again, ["ca.test", "other.test"])).toBe(
        max(again.nextAttemptAt as Instant, at(Math.min(one, other))),
      );
      const permitting = permittingAuthorities(again, ["ca.test", "other.test", "third.test"], at(3 * DAY));
      expect(permitting).toEqual([
        ...(one <= 3 * DAY ? ["ca.test"] : []),
        ...(other <= 3 * DAY ? ["other.test"] : []),
        "third.test",
      ]);
    }),
  );
});

test("the certificate of an unused host is kept until the delay of each authority ends", () => {
  const failed = afterFailure(noFailures, refusal(DAY), now);
  const unused = { ...withoutCertificate(host), ...failed };
  expect([0, DAY - 1, DAY].map((millis) => isDiscardable(unused, at(millis)))).toEqual([false, false, true]);
});

const dnsFailure = { message: "no records", authorityDelaysMs: {}, isOrder: false };
const orderFailure = refusal(null);

test("a start ends the pause after failures that asked no authority, but not a delay that an authority requires", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), moment, (failures, until) => {
      const failed = afterFailure({ ...noFailures, failures }, dnsFailure, now);
      const authorityDelays = { "ca.test": until };
      const started = afterStart({ ...withoutCertificate(host), ...failed, authorityDelays });
      expect(started).toEqual({ ...failed, failures: 0, authorityDelays, nextAttemptAt: null });
    }),
  );
});

test("repeated starts keep a growing pause between failed orders", () => {
  const event = fc.constantFrom("start" as const, "records" as const, "order" as const);
  fc.assert(
    fc.property(fc.array(event, { minLength: 5, maxLength: 60 }), (events) => {
      let state = withoutCertificate(host);
      let time = now;
      let last = { at: now, orders: 0 };
      for (const kind of events) {
        if (kind === "start") {
          state = { ...state, ...afterStart(state) };
          expect(afterStart(state)).toMatchObject({ failures: state.failures, nextAttemptAt: state.nextAttemptAt });
          continue;
        }
        time = orderDueAt(state, authorities, time);
        if (kind === "order") {
          const pause = Math.min(2 ** (last.orders - 1), 64) * MINUTE;
          if (last.orders > 0) expect(millisOf(time) - millisOf(last.at)).toBeGreaterThanOrEqual(pause);
          last = { at: time, orders: last.orders + 1 };
        }
        state = { ...state, ...afterFailure(state, kind === "order" ? orderFailure : dnsFailure, time) };
      }
    }),
  );
});

test("a domain is active only with correct records and a valid certificate, and the detail has the reason", () => {
  fc.assert(
    fc.property(certificate, fc.constantFrom(...domainStatuses), (one, status) => {
      const view = withCertificate({ status, detail: "As checked." }, one, authorities, now);
      expect(view.status === "active").toBe(status === "active" && isValid(one, now) && one.reason === null);
      if (status === "pending") expect(view).toEqual({ status, detail: "As checked." });
      else if (one.life === null) expect(view.status).toBe("pending");
      if (status === "active" && one.reason !== null) expect(view.detail).toContain(one.reason);
    }),
  );
});
