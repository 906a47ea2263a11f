/** Mount declarations by example: both forms, every rule of contract 5.2. */
import { describe, expect, test } from "vitest";
import { mountPathProblem, readMounts, renderMounts } from "../../../../core/domain/volumes/mounts.ts";
import { refusedMountPaths } from "../../../arbitraries/index.ts";

const issuesOf = (raw: unknown) => readMounts(raw).issues.map(({ path, type }) => [path.join(" › "), type]);

describe("accepts", () => {
  test("the short form and the object form, normalized by path", () => {
    expect(readMounts({ "/srv": "b", "/data": { name: "a", read_only: true, sub_path: "x/y" } })).toStrictEqual({
      mounts: [
        { path: "/data", volume: "a", readOnly: true, subPath: "x/y" },
        { path: "/srv", volume: "b", readOnly: false },
      ],
      issues: [],
    });
  });

  test("an empty declaration", () => expect(readMounts({})).toEqual({ mounts: [], issues: [] }));

  test("one volume at several paths", () => {
    expect(readMounts({ "/a": "vol", "/b": { name: "vol", sub_path: "b" } }).issues).toEqual([]);
  });

  test.each([
    "/data",
    "/a/b",
    "/var/lib",
    "/usr/local",
    "/home/me",
    "/tmp/x",
    "/procs",
    "/etcetera",
    "/a b",
    "/...",
    "/数据",
  ])("the path %s", (path) => expect(mountPathProblem(path)).toBeUndefined());

  test("paths with a common prefix that are not nested", () => {
    expect(readMounts({ "/data": "a", "/data-2": "b", "/data2/x": "c" }).issues).toEqual([]);
  });

  test("ten mounts, a path of 1024 characters", () => {
    const ten = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`/m${index}`, "vol"]));
    expect(readMounts(ten).mounts).toHaveLength(10);
    expect(mountPathProblem(`/${"a".repeat(1023)}`)).toBeUndefined();
  });
});

describe("rejected declarations", () => {
  test.each(Object.entries(refusedMountPaths))("the path %j: %s", (path) => {
    expect(issuesOf({ [path]: "vol" })).toEqual([[path, "value_error"]]);
  });

  test.each([
    ["data", "a mount path must be absolute: start it with '/'"],
    ["/a:b", "a mount path must not contain ':' or control characters"],
    ["/a\nb", "a mount path must not contain ':' or control characters"],
    [`/${"a".repeat(1024)}`, "a mount path must be at most 1024 characters"],
    ["/data/", "a mount path must be normalized: without '//', '.', '..' or a trailing '/'"],
    ["/run/secrets", "a volume must not be mounted at or under /run; use a path such as '/data'"],
    ["/", "a volume must not be mounted at / itself; use a path such as '/data'"],
    ["/home", "a volume must not be mounted at /home itself; use a path such as '/data'"],
  ])("the message for the path %.20s", (path, words) => expect(mountPathProblem(path)).toBe(words));

  test.each<[unknown, string]>([
    [{ name: "vol", sub_path: "/x" }, "sub_path must be relative: remove the leading '/'"],
    [{ name: "vol", sub_path: "x\ny" }, "sub_path must not contain control characters"],
    [{ name: "vol", sub_path: "a\\b" }, "sub_path must not contain a backslash; separate its parts with '/'"],
    [{ name: "vol", sub_path: "x/" }, "sub_path must be normalized: without empty, '.' or '..' parts"],
    [{ name: "vol", sub_path: 5 }, "must be a string"],
    [{ name: "vol", read_only: "yes" }, "must be true or false"],
    [{ name: 5 }, "must be a volume name"],
    [{}, "is required: the name of the volume"],
    [5, "must be a volume name or {name, read_only, sub_path}"],
  ])("the message for the target %j", (target, words) =>
    expect(readMounts({ "/data": target }).issues.map(({ message }) => message)).toEqual([words]),
  );

  test("messages for invalid declarations and for too many mounts", () => {
    expect(readMounts([]).issues[0]?.message).toBe(
      'must be an object such as {"/data": "my-volume"}, or {} for no storage',
    );
    const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`/m${index}`, "vol"]));
    expect(readMounts(eleven).issues.map(({ message }) => message)).toEqual(["must have at most 10 mounts; got 11"]);
  });

  test("an invalid path does not affect the valid ones", () => {
    expect(issuesOf({ "": "vol", "/": "vol", "/data": "vol" })).toEqual([
      ["", "value_error"],
      ["/", "value_error"],
    ]);
  });

  test("a nested mount, naming both paths", () => {
    const { issues } = readMounts({ "/data/cache/x": "a", "/data": "b" });
    expect(issues).toEqual([
      { path: ["/data/cache/x"], message: "is inside the mount /data; mounts must not be nested", type: "value_error" },
    ]);
  });

  test.each<[unknown, string, string]>([
    [[], "", "dict_type"],
    ["/data", "", "dict_type"],
    [null, "", "dict_type"],
    [{ "/a": 5 }, "/a", "dict_type"],
    [{ "/a": ["vol"] }, "/a", "dict_type"],
    [{ "/a": null }, "/a", "dict_type"],
    [{ "/a": {} }, "/a › name", "missing"],
    [{ "/a": { name: 5 } }, "/a › name", "string_type"],
    [{ "/a": "Vol" }, "/a", "string_pattern_mismatch"],
    [{ "/a": { name: "Vol" } }, "/a › name", "string_pattern_mismatch"],
    [{ "/a": { name: "vol", read_only: "true" } }, "/a › read_only", "bool_parsing"],
    [{ "/a": { name: "vol", sub_path: 5 } }, "/a › sub_path", "string_type"],
    [{ "/a": { name: "vol", sub_path: "/x" } }, "/a › sub_path", "value_error"],
    [{ "/a": { name: "vol", sub_path: "x/../y" } }, "/a › sub_path", "value_error"],
    [{ "/a": { name: "vol", sub_path: "" } }, "/a › sub_path", "value_error"],
    [{ "/a": { name: "vol", readonly: true } }, "/a › readonly", "extra_forbidden"],
  ])("%j at '%s': %s", (raw, where, type) => expect(issuesOf(raw)).toEqual([[where, type]]));

  test("all issues are reported together", () => {
    expect(issuesOf({ "/etc": "A", "/a": { nam: "vol" } })).toEqual([
      ["/etc", "value_error"],
      ["/etc", "string_pattern_mismatch"],
      ["/a › nam", "extra_forbidden"],
      ["/a › name", "missing"],
    ]);
  });

  test("a rejected declaration returns no mounts", () => {
    expect(readMounts({ "/data": "vol", "/etc": "vol" }).mounts).toEqual([]);
  });

  test("rejects sixty thousand mounts without pairwise comparison", () => {
    const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`/m${index}`, "vol"]));
    expect(issuesOf(many)).toEqual([["", "less_than_equal"]]);
  });
});

test("the object form has all settings", () => {
  expect(renderMounts(readMounts({ "/b": "vol", "/a": { name: "vol", sub_path: "x" } }).mounts)).toStrictEqual({
    "/a": { name: "vol", read_only: false, sub_path: "x" },
    "/b": { name: "vol", read_only: false },
  });
});
