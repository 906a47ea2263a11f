/** Mount declarations and environments that the platform must reject. */
import fc from "fast-check";
import { type Fault, fault, jsonFault } from "./fault.ts";

/** Paths at which a mount must be rejected, with the rule that each breaks. */
export const refusedMountPaths: Readonly<Record<string, string>> = {
  "": "absolute",
  data: "absolute",
  "./data": "absolute",
  "/": "not the root",
  "/data/": "normalized",
  "//data": "normalized",
  "/data//x": "normalized",
  "/data/.": "normalized",
  "/data/../x": "normalized",
  "/..": "normalized",
  "/a:b": "no colon",
  "/a\nb": "no control characters",
  "/a\u0000": "no control characters",
  "/a\u007f": "no control characters",
  "/proc": "not in a system folder",
  "/proc/1": "not in a system folder",
  "/sys": "not in a system folder",
  "/dev/shm": "not in a system folder",
  "/etc": "not in a system folder",
  "/etc/app": "not in a system folder",
  "/boot": "not in a system folder",
  "/run/secrets": "not in a system folder",
  "/usr": "not a system folder itself",
  "/bin": "not a system folder itself",
  "/sbin": "not a system folder itself",
  "/lib": "not a system folder itself",
  "/lib64": "not a system folder itself",
  "/var": "not a system folder itself",
  "/home": "not a system folder itself",
  "/root": "not a system folder itself",
  "/tmp": "not a system folder itself",
};

const refusedVolumeNames = ["", "A", "-a", "a-", "a_b", "a.b", "é", "a".repeat(41), "a\n", "gs://bucket"];
const refusedSubPaths = ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\0b", "a\nb"];

const one = (target: unknown) => ({ "/data": target });
const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`/m${index}`, "vol"]));
const garbage = ["{", "nonsense", '{"/data": }', "{'/data': 'vol'}", '{"/data": "vol",}', "{} {}", "undefined"];

export const brokenVolumes: readonly Fault[] = [
  fault("volumes", "missing", fc.constantFrom(undefined, "", null, "null")),
  fault("volumes", "json_invalid", fc.constantFrom(...garbage)),
  fault(
    "volumes",
    "json_invalid",
    fc.constantFrom('{"/a": "x", "/a": "y"}', '{"/a": {"name": "x", "name": "y"}}', '{"/a": "x", "\\u002fa": "x"}'),
  ),
  fault("volumes", "dict_type", fc.constantFrom<unknown>([], ["/data"], "[]", '"text"', "5", "true", 5, true)),
  fault("volumes", "less_than_equal", fc.constant(eleven)),
  fault(
    "volumes",
    "value_error",
    fc.constantFrom(...Object.keys(refusedMountPaths)).map((path) => ({ [path]: "vol", "/fine": "vol" })),
  ),
  fault(
    "volumes",
    "value_error",
    fc.constantFrom("/a/b", "/a/b/c", "/a/...").map((inner) => ({ "/a": "vol", [inner]: "vol" })),
  ),
  fault("volumes", "string_pattern_mismatch", fc.constantFrom(...refusedVolumeNames).map(one)),
  fault(
    "volumes",
    "string_pattern_mismatch",
    fc.constantFrom(...refusedVolumeNames).map((name) => one({ name })),
  ),
  fault("volumes", "dict_type", fc.constantFrom<unknown>(5, true, null, [], ["vol"]).map(one)),
  fault("volumes", "missing", fc.constant(one({}))),
  fault(
    "volumes",
    "string_type",
    fc.constantFrom<unknown>(5, null, {}).map((name) => one({ name })),
  ),
  fault(
    "volumes",
    "bool_parsing",
    fc.constantFrom<unknown>("true", 1, null).map((readOnly) => one({ name: "vol", read_only: readOnly })),
  ),
  fault(
    "volumes",
    "value_error",
    fc.constantFrom(...refusedSubPaths).map((path) => one({ name: "vol", sub_path: path })),
  ),
  fault(
    "volumes",
    "string_type",
    fc.constantFrom<unknown>(5, null, []).map((path) => one({ name: "vol", sub_path: path })),
  ),
  fault(
    "volumes",
    "extra_forbidden",
    fc.constantFrom("readonly", "subPath", "mode", "__proto__").map((key) =>
      one(
        Object.fromEntries([
          ["name", "vol"],
          [key, true],
        ]),
      ),
    ),
  ),
];

const variable = (name: string, value: unknown) => Object.fromEntries([[name, value]]);

export const brokenEnvironments: readonly Fault[] = [
  fault("env", "json_invalid", fc.constantFrom("", ...garbage)),
  fault("env", "json_invalid", fc.constantFrom('{"A": "1", "A": "2"}', '{"A": "1", "\\u0041": "1"}')),
  fault("env", "dict_type", fc.constantFrom<unknown>([], "[]", '"text"', "5", 5, true, null)),
  fault(
    "env",
    "string_pattern_mismatch",
    fc.constantFrom("", "1A", "A-B", "A B", "A=B", "é", "A.B", "A\n").map((name) => variable(name, "x")),
  ),
  fault(
    "env",
    "value_error",
    fc
      .constantFrom("PORT", "CRON_TOKEN", "K_SERVICE", "K_", "PORTSIDE_VOLUMES", "PORTSIDE_")
      .map((name) => variable(name, "x")),
  ),
  fault(
    "env",
    "string_type",
    fc.constantFrom<unknown>(5, true, null, [], ["a"]).map((value) => variable("A", value)),
  ),
  fault(
    "env",
    "missing",
    fc.constantFrom<unknown>({}, { version: 1 }).map((value) => variable("A", value)),
  ),
  fault(
    "env",
    "value_error",
    fc.constantFrom("\0", "a\0b").map((value) => variable("A", value)),
  ),
  fault("env", "too_large", fc.constant(variable("A", "x".repeat(32 * 1024)))),
  jsonFault("env", "dict_type", fc.constantFrom<unknown>(5, true, [])),
];
