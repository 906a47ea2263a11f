/** Instants and log positions of the years 1 to 9999, which RFC 3339 can express. */
import fc from "fast-check";
import { type LogPosition, ordinalCode } from "../../core/domain/logs/cursor.ts";
import type { Instant } from "../../core/domain/wire/instant.ts";

/** 0001-01-01T00:00:00Z in nanoseconds. */
export const firstInstant = -62_135_596_800_000_000_000n as Instant;
/** 9999-12-31T23:59:59.999999999Z in nanoseconds. */
export const lastInstant = 253_402_300_799_999_999_999n as Instant;

/** Any nanosecond of the years 1 to 9999, often a whole microsecond, millisecond or second. */
export const instant = (): fc.Arbitrary<Instant> =>
  fc
    .tuple(fc.bigInt({ min: firstInstant, max: lastInstant }), fc.constantFrom(1n, 1000n, 1_000_000n, 1_000_000_000n))
    .map(([nanos, grain]) => {
      const rounded = nanos - (((nanos % grain) + grain) % grain);
      return (rounded < firstInstant ? firstInstant : rounded) as Instant;
    });

/** Positions with few different instants and ordinals, so that many are equal or adjacent. */
export const logPosition = (): fc.Arbitrary<LogPosition> =>
  fc.record(
    {
      instant: fc.oneof(
        instant(),
        fc.integer({ min: -3, max: 3 }).map((nanos) => (1_767_225_600_000_000_000n + BigInt(nanos)) as Instant),
      ),
      code: fc
        .oneof(fc.nat({ max: 3 }), fc.constantFrom(9, 10, 99, 100), fc.integer({ min: 0, max: 9_999_999_999 }))
        .map(ordinalCode),
    },
    { noNullPrototype: true },
  );
