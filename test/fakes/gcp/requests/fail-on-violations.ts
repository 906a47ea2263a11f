/** A setup file: each test fails if it sent a request that Google's documents do not allow. */
import { afterEach, expect } from "vitest";
import { takeViolations } from "./violations.ts";

afterEach(() => {
  expect(takeViolations(), "requests that Google's documents do not allow").toEqual([]);
});
