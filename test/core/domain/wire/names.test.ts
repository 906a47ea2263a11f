/** The rules of names, each with the message for the broken one (contract 4.2 and 5.1). */
import { describe, expect, test } from "vitest";
import {
  deploymentNameProblem,
  normalizeDeploymentName,
  parseDeploymentName,
  parseVolumeName,
  reservedNames,
  volumeNameProblem,
} from "../../../../core/domain/wire/names.ts";

describe("deployment names", () => {
  test.each(["a", "my-app", "a1", "a--b", "a".repeat(49)])("accepts '%s'", (name) => {
    expect(deploymentNameProblem(name)).toBeUndefined();
    expect(parseDeploymentName(name)).toBe(name);
  });

  test.each([
    ["", "must not be empty"],
    ["a".repeat(50), "at most 49 characters; got 50"],
    ["My-app", "must contain only lowercase letters"],
    ["my.app", "must contain only lowercase letters"],
    ["naïve", "must contain only lowercase letters"],
    ["a\n", "must contain only lowercase letters"],
    ["1app", "must start with a letter"],
    ["-app", "must start with a letter"],
    ["app-", "must not end with '-'"],
    ["www", "reserved"],
  ])("rejects '%s': %s", (name, words) => {
    expect(deploymentNameProblem(name)).toContain(words);
    expect(parseDeploymentName(name)).toBeUndefined();
  });

  test("'_' is read as '-'", () => {
    expect(normalizeDeploymentName("my_little_app")).toBe("my-little-app");
    expect(parseDeploymentName("my_app")).toBe("my-app");
    expect(parseDeploymentName("_app")).toBeUndefined();
  });

  test("reserved names are a setting", () => {
    expect(reservedNames.length).toBeGreaterThan(0);
    for (const name of reservedNames) expect(deploymentNameProblem(name)).toContain(name);
    expect(deploymentNameProblem("www", ["mine"])).toBeUndefined();
    expect(deploymentNameProblem("mine", ["mine"])).toContain("reserved");
  });
});

describe("volume names", () => {
  test.each(["a", "0", "7-days", "a".repeat(40), "www"])("accepts '%s'", (name) => {
    expect(volumeNameProblem(name)).toBeUndefined();
    expect(parseVolumeName(name)).toBe(name);
  });

  test.each([
    ["", "must not be empty"],
    ["a".repeat(41), "at most 40 characters; got 41"],
    ["Data", "must contain only lowercase letters"],
    ["my_data", "must contain only lowercase letters"],
    ["-data", "must start with a letter or a digit"],
    ["data-", "must not end with '-'"],
  ])("rejects '%s': %s", (name, words) => {
    expect(volumeNameProblem(name)).toContain(words);
    expect(parseVolumeName(name)).toBeUndefined();
  });
});
