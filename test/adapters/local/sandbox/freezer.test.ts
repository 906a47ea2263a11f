/** The kernel's freezer, on files that imitate both versions of control groups. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { containerFreezer, groupsOf, isFrozen } from "../../../../adapters/local/sandbox/freezer.ts";

const ID = "9206f82401cb62c3";

const mounts: string[] = [];
afterEach(() => {
  for (const mount of mounts.splice(0)) rmSync(mount, { recursive: true });
});

/** Returns a mount point with one freezer file, and the path of this file. */
const mounted = (file: string, content: string) => {
  const mount = mkdtempSync(join(tmpdir(), "portside-freezer-"));
  mounts.push(mount);
  const path = join(mount, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return { mount, path };
};

const layouts = [
  {
    version: "1",
    groups: `12:pids:/docker/${ID}\n7:freezer:/docker/${ID}\n0::/system.slice/docker.service\n`,
    file: `freezer/docker/${ID}/freezer.state`,
    frozen: "FROZEN",
    thawed: "THAWED",
  },
  {
    version: "2",
    groups: `0::/system.slice/docker-${ID}.scope\n`,
    file: `system.slice/docker-${ID}.scope/cgroup.freeze`,
    frozen: "1",
    thawed: "0",
  },
];

test.for(layouts)("freezes and thaws a container with version $version", ({ groups, file, frozen, thawed }) => {
  const { mount, path } = mounted(file, `${thawed}\n`);
  const freezer = containerFreezer(groups, ID, mount);
  expect(isFrozen(groups, mount)).toBe(false);
  freezer?.freeze();
  expect(readFileSync(path, "utf8")).toBe(frozen);
  expect(isFrozen(groups, mount)).toBe(true);
  freezer?.thaw();
  expect(readFileSync(path, "utf8")).toBe(thawed);
  expect(isFrozen(groups, mount)).toBe(false);
});

test("a group of version 1 that is not completely frozen counts as frozen", () => {
  const { groups, file } = layouts[0] as (typeof layouts)[0];
  expect(isFrozen(groups, mounted(file, "FREEZING\n").mount)).toBe(true);
});

test.for(layouts)("never freezes a group of another program with version $version", ({ groups, file, thawed }) => {
  const { mount } = mounted(file, thawed);
  expect(containerFreezer(groups, "another-id", mount)).toBeUndefined();
});

test("returns no freezer if the group or the process is missing", () => {
  const { groups, file, thawed } = layouts[1] as (typeof layouts)[0];
  const { mount } = mounted(file, thawed);
  expect(containerFreezer(groups.replaceAll("system", "user"), ID, mount)).toBeUndefined();
  expect(groupsOf(0)).toBe("");
  expect(containerFreezer("", ID, mount)).toBeUndefined();
  expect(isFrozen("", mount)).toBe(false);
});
