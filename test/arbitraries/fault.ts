/** One way to break a request: the fields that it changes, and the field and the word that the answer must have. */
import fc from "fast-check";
import type { IssueType } from "../../core/domain/wire/issue.ts";

export interface Fault {
  readonly field: string;
  readonly type: IssueType | undefined;
  /** The fields to set; one that is set to undefined is left out of the request. */
  readonly fields: fc.Arbitrary<Readonly<Record<string, unknown>>>;
  /** `json`: as the text of a form, the value would be legal or mean something else. */
  readonly only?: "json";
}

export const fault = (field: string, type: IssueType | undefined, value: fc.Arbitrary<unknown>): Fault => ({
  field,
  type,
  fields: value.map((one) => Object.fromEntries([[field, one]])),
});

export const jsonFault = (field: string, type: IssueType | undefined, value: fc.Arbitrary<unknown>): Fault => ({
  ...fault(field, type, value),
  only: "json",
});

/** JSON values that are no text; the last two answer badly when they are turned into one. */
export const wrongTypes = (): fc.Arbitrary<unknown> =>
  fc.constantFrom<unknown>(null, true, 0, 1.5, [], ["a"], {}, { toString: 1 }, { valueOf: null, toString: null });
