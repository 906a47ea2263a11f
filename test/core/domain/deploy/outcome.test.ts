/** The outcome of a deploy whose server stopped before it reported one. */
import { expect, test } from "vitest";
import { unreportedOutcome } from "../../../../core/domain/deploy/outcome.ts";
import type { Revision, ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";

const serving = (...deployIds: string[]): Revision[] =>
  deployIds.map((deployId) => ({ id: `of-${deployId}`, template: { deployId } as ServiceTemplate }));

test("a deploy is DONE if one of its revisions has traffic, otherwise interrupted", () => {
  expect(unreportedOutcome("d2", serving("d2"))).toEqual({ status: "DONE", reason: null });
  expect(unreportedOutcome("d2", serving("d1", "d2"))).toEqual({ status: "DONE", reason: null });
  expect(unreportedOutcome("d2", serving("d1"))).toEqual({ status: "ERROR", reason: "interrupted" });
  expect(unreportedOutcome("d2", serving())).toEqual({ status: "ERROR", reason: "interrupted" });
});
