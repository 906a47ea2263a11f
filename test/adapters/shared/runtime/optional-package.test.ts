/** Optional packages: any version may be installed, but an unsupported one is rejected when it is loaded. */
import { globSync, readFileSync } from "node:fs";
import semver from "semver";
import { expect, test } from "vitest";
import {
  findPackage,
  needPackages,
  packagesProblem,
  peerVersions,
  UnusablePackage,
} from "../../../../adapters/shared/runtime/optional-package.ts";

type Versions = Readonly<Record<string, string>>;
const { peerDependencies, devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly peerDependencies: Versions;
  readonly devDependencies: Versions;
};

test("npm accepts every version, and every package has supported versions", () => {
  expect(new Set(Object.values(peerDependencies))).toEqual(new Set(["*"]));
  expect(Object.keys(peerVersions).sort()).toEqual(Object.keys(peerDependencies).sort());
});

test.each(Object.entries(peerVersions))("%s: the tests run with the newest supported line", (name, lines) => {
  expect(semver.satisfies(devDependencies[name] as string, lines.at(-1) as string, { includePrerelease: true })).toBe(
    true,
  );
  expect(findPackage(name)).toEqual({ version: devDependencies[name] });
  expect(packagesProblem([name])).toBeUndefined();
});

const at = (version: string | undefined) => () => ({ version });
const load = async () => "loaded";

test.each(["4.0.0", "4.1.0", "5.0.0", "6.0.0-beta.1", undefined])("loads dockerode %s", async (version) => {
  expect(await needPackages("Docker", ["dockerode"], load, at(version))).toBe("loaded");
});

test("rejects an older version, naming both versions and the command", async () => {
  const refused = needPackages("Docker", ["dockerode"], load, at("3.3.5"));
  await expect(refused).rejects.toBeInstanceOf(UnusablePackage);
  await expect(refused).rejects.toMatchObject({
    kind: "unusable_package",
    message:
      "Docker needs the package 'dockerode', but 'dockerode' 3.3.5 is installed (required: 4 or newer): npm install dockerode@5",
    fix: "npm install dockerode@5",
  });
});

test.each(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"])("reports a missing package for %s", async (code) => {
  const fails = () => Promise.reject(Object.assign(new Error("not found"), { code }));
  await expect(needPackages("Docker", ["dockerode", "pg"], fails, () => undefined)).rejects.toMatchObject({
    kind: "unusable_package",
    message: "Docker needs the packages 'dockerode' and 'pg': npm install dockerode@5 pg@8",
  });
});

test("rethrows other errors of a package", async () => {
  const fails = () => Promise.reject(new SyntaxError("broken"));
  await expect(needPackages("Docker", ["dockerode"], fails)).rejects.toThrow("broken");
});

test("does not find a package that is not installed", () =>
  expect(findPackage("portside-is-not-this")).toBeUndefined());

const exact = Object.entries(peerVersions).flatMap(([name, [line]]) =>
  semver.valid(line) === null ? [] : [[name, line]],
);

test.each(exact)("every command in the docs installs %s %s", (name, version) => {
  const commands = globSync("docs/*.md").flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.includes("npm install ") && line.includes(name as string)),
  );
  expect(commands.length).toBeGreaterThan(0);
  for (const command of commands) expect(command).toContain(`${name}@${version}`);
});
