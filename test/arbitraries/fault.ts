/** One way to break a request: the changed fields, and the field and type that the error must name. */
import fc from "fast-check";
import type { IssueType } from "../../core/domain/wire/issue.ts";

/** A fault to apply to a valid request. */
export interface Fault {
  /** The field that every issue must name first in its location. */
  readonly field: string;
  /** The `type` of the issue; undefined if several types are correct. */
  readonly type: IssueType | undefined;
  /** The fields to set. A field with the value undefined is removed from the request. */
  readonly fields: fc.Arbitrary<Readonly<Record<string, unknown>>>;
  /** `json` if the fault applies only to JSON: in a form, the value would be valid text or have another meaning. */
  readonly only?: "json";
}

/** One field with an invalid value. */
export const fault = (field: string, type: IssueType | undefined, value: fc.Arbitrary<unknown>): Fault => ({
  field,
  type,
  fields: value.map((one) => Object.fromEntries([[field, one]])),
});

/** One field with a value that is invalid only as JSON. */
export const jsonFault = (field: string, type: IssueType | undefined, value: fc.Arbitrary<unknown>): Fault => ({
  ...fault(field, type, value),
  only: "json",
});

/** JSON values that are not text. Converting one of the last two to text throws or returns something unexpected. */
export const wrongTypes = (): fc.Arbitrary<unknown> =>
  fc.constantFrom<unknown>(null, true, 0, 1.5, [], ["a"], {}, { toString: 1 }, { valueOf: null, toString: null });
