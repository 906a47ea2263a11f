/** Fire times compared with croner, and with a minute-by-minute simulation of a wall clock. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { nextFire, nextFires } from "../../../../core/domain/schedules/fire-times.ts";
import { type CronFields, parseCron, type Schedule } from "../../../../core/domain/schedules/schedule.ts";
import { type Instant, instantOfMillis, millisOf } from "../../../../core/domain/wire/instant.ts";
import { cronExpression, instant, schedule } from "../../../arbitraries/index.ts";
import { cronerFires } from "../../../support/clocks/croner.ts";
import { daysOfChange, offsetOf, wallAt } from "../../../support/clocks/wall-clocks.ts";
import { runs, within } from "../../../support/vitest/runs.ts";

const HOUR = 3_600_000;
const [firstYear, lastYear] = [1990, 2090];

/** Zones with unusual clock changes: half hours, at midnight, quarter hours, a skipped day, two hours. */
const oddZones = [
  ...["Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Cairo", "Asia/Beirut", "Pacific/Apia", "Asia/Kathmandu"],
  ...["America/St_Johns", "Pacific/Chatham", "America/Nuuk", "Africa/Casablanca", "Antarctica/Troll", "Europe/Paris"],
  ...["Pacific/Kwajalein", "America/Caracas", "Asia/Pyongyang", "Asia/Gaza", "America/Santiago", "Europe/London"],
];
const zone = fc.oneof(fc.constantFrom(...oddZones), fc.constantFrom(...Intl.supportedValuesOf("timeZone")));

/** Times of day at which clocks change, and plain dates, so that many fires coincide with a change. */
const nightly = fc
  .tuple(
    fc.constantFrom("0", "0", "1", "30", "59", "*", "*/30", "0,30", "45-50", "7-9/10"),
    fc.constantFrom("0", "0", "1", "2", "3", "23", "*", "*/2", "0,23", "1-3", "2-2/5"),
    fc.constantFrom("*", "*", "*", "*/2", "1-7", "25-31", "31", "*,5"),
    fc.constantFrom("*", "*", "*/3", "MAR,oct"),
    fc.constantFrom("*", "*", "SUN", "1-5", "*/2", "5-7"),
  )
  .map((fields) => fields.join(" "));

const anyMoment = fc.date({
  min: new Date(`${firstYear}-01-01`),
  max: new Date(`${lastYear}-01-01`),
  noInvalidDate: true,
});

/** A schedule and a time in milliseconds: half of the times are within two days of a clock change. */
const occasion = fc.record({ cron: fc.oneof(nightly, cronExpression()), timezone: zone }).chain((made) => {
  const nearChange = fc
    .tuple(fc.integer({ min: firstYear, max: lastYear }), fc.nat(), fc.integer({ min: -48 * HOUR, max: 48 * HOUR }))
    .map(([year, choice, away]) => {
      const days = daysOfChange(made.timezone, year);
      return (days[choice % days.length] ?? Date.UTC(year, 6, 1)) + away;
    })
    .chain((millis) => fc.constantFrom(millis, millis - (millis % HOUR), millis - (millis % (HOUR / 2))));
  return fc
    .oneof(
      anyMoment.map((date) => date.getTime()),
      nearChange,
    )
    .map((after) => ({ made, after }));
});

const millisOfFires = (made: Schedule, after: number, count: number): number[] =>
  nextFires(made, instantOfMillis(after), count).map(millisOf);

/** The fires until `end`, at most three days later. Stops an endless loop: no schedule fires twice in a minute. */
const firesUntil = (made: Schedule, after: number, end: number): number[] => {
  const fires: number[] = [];
  let fire = nextFire(made, instantOfMillis(after));
  while (fire !== undefined && millisOf(fire) <= end && fires.length <= 3 * 1440) {
    fires.push(millisOf(fire));
    fire = nextFire(made, fire);
  }
  return fires;
};

test(
  "matches croner",
  () => {
    const each = fc.oneof(
      { weight: 5, arbitrary: occasion },
      fc.record({ made: schedule(), after: anyMoment.map((date) => date.getTime()) }),
    );
    fc.assert(
      fc.property(each, ({ made, after }) => {
        expect(millisOfFires(made, after, 6)).toEqual(cronerFires(made, after, 6));
      }),
      runs(800),
    );
  },
  within(),
);

/** Reports whether a wall clock time is a fire. */
const shows = (fields: CronFields, wall: Date): boolean => {
  const byDay = fields.days.has(wall.getUTCDate());
  const byWeekday = fields.weekdays.has(wall.getUTCDay());
  return (
    fields.minutes.has(wall.getUTCMinutes()) &&
    fields.hours.has(wall.getUTCHours()) &&
    fields.months.has(wall.getUTCMonth() + 1) &&
    (fields.anyDay || fields.anyWeekday ? byDay && byWeekday : byDay || byWeekday)
  );
};

/** The fires of three days, found by reading the wall clock every minute. */
const noted = ({ cron, timezone }: Schedule, after: number): number[] => {
  const fields = parseCron(cron) as CronFields;
  const once = fields.minutes.size === 1 && fields.hours.size === 1;
  const fires: number[] = [];
  const begin = Math.floor(after / 60_000) * 60_000;
  // Starts two days earlier, so that a repeated time is recognized as such.
  let highest = wallAt(timezone, begin - 48 * HOUR).getTime();
  for (let at = begin - 48 * HOUR; at <= after + 72 * HOUR; at += 60_000) {
    const wall = wallAt(timezone, at);
    const repeated = wall.getTime() <= highest;
    let fire = shows(fields, wall) && !(once && repeated);
    if (once)
      for (let missed = highest + 60_000; missed < wall.getTime(); missed += 60_000)
        fire ||= new Date(missed).getUTCDate() === wall.getUTCDate() && shows(fields, new Date(missed));
    if (fire && at > after) fires.push(at);
    highest = Math.max(highest, wall.getTime());
  }
  return fires;
};

test(
  "matches the wall clock: no fire is missing and none is added",
  () => {
    fc.assert(
      fc.property(occasion, ({ made, after }) => {
        expect(firesUntil(made, after, after + 72 * HOUR)).toEqual(noted(made, after));
      }),
      runs(40),
    );
  },
  within(),
);

test(
  "a fire shows its wall clock time, or replaces a time that was skipped that day",
  () => {
    fc.assert(
      fc.property(occasion, ({ made, after }) => {
        const fields = parseCron(made.cron) as CronFields;
        for (const fire of millisOfFires(made, after, 5)) {
          const wall = wallAt(made.timezone, fire);
          const gap = offsetOf(made.timezone, fire) - offsetOf(made.timezone, fire - 1000);
          const leftOut = Array.from({ length: Math.max(0, gap / 60_000) }, (_, index) => index + 1)
            .map((minutes) => new Date(wall.getTime() - minutes * 60_000))
            .filter((time) => time.getUTCDate() === wall.getUTCDate());
          expect(shows(fields, wall) || leftOut.some((time) => shows(fields, time))).toBe(true);
        }
      }),
      runs(400),
    );
  },
  within(),
);

test(
  "in any year, fires are strictly increasing, and a fire remains the next one until its time",
  () => {
    fc.assert(
      fc.property(schedule(), instant(), fc.double({ min: 0, max: 1, noNaN: true }), (made, after, share) => {
        let last = after;
        for (const fire of nextFires(made, after, 4)) {
          expect(fire).toBeGreaterThan(last);
          const between = last + BigInt(Math.floor(Number(fire - last) * share * 0.999));
          expect(nextFire(made, between as Instant)).toBe(fire);
          expect(nextFire(made, (fire - 1n) as Instant)).toBe(fire);
          last = fire;
        }
      }),
      runs(500),
    );
  },
  within(),
);
