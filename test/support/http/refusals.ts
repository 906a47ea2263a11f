/** Parses error responses in the format of contract section 3. */
import { expect } from "vitest";
import type { ApiResponse } from "./api.ts";

/** Path and type of each issue, as `field.part: type`, sorted. Also checks the format of the response. */
export const problemsOf = (response: ApiResponse): string[] => {
  expect(response.status, response.text).toBe(422);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  expect(Object.keys(response.json)).toEqual(["detail"]);
  const problems: { loc: (string | number)[]; msg: string; type: string }[] = response.json.detail;
  expect(problems.length).toBeGreaterThan(0);
  for (const problem of problems) {
    expect(Object.keys(problem).sort()).toEqual(["loc", "msg", "type"]);
    expect(["body", "query", "header"]).toContain(problem.loc[0]);
    expect(problem.msg).toMatch(/\S/);
  }
  return problems.map(({ loc, type }) => `${loc.join(".")}: ${type}`).sort();
};

/** The message of an error that is not about fields. */
export const detailOf = (response: ApiResponse, status: number): string => {
  expect(response.status, response.text).toBe(status);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  expect(Object.keys(response.json)).toEqual(["detail"]);
  expect(typeof response.json.detail).toBe("string");
  return response.json.detail;
};
