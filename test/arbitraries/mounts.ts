/** Valid mount declarations, in short and object form, with the mounts that they declare. */
import fc from "fast-check";
import { fieldLimits } from "../../core/domain/accounts/limits.ts";
import type { Mount } from "../../core/domain/volumes/mounts.ts";
import { volumeName } from "./names.ts";

/** Unusual path parts that are valid: dots, spaces, other scripts, a leading hyphen. */
const part = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("data", "srv", "mnt", "a", "b", "usr", "etc", "tmp") },
    fc.constantFrom("...", ".hidden", "with space", "-rf", "ünïcödé", "数据", "😀", "__proto__", "a'b", 'a"b', "%2e"),
    fc
      .string({ unit: fc.constantFrom(..."abcXYZ019._- ~"), minLength: 1, maxLength: 12 })
      .filter((text) => !/^\.{1,2}$/.test(text)),
  );

const parts = (): fc.Arbitrary<string> =>
  fc.array(part(), { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));

const reserved = ["proc", "sys", "dev", "etc", "boot", "run"];
const reservedAlone = ["usr", "bin", "sbin", "lib", "lib64", "var", "home", "root", "tmp"];

/** A path at which a volume may be mounted. */
export const mountPath = (): fc.Arbitrary<string> =>
  parts()
    .filter((path) => !reserved.includes(path.split("/")[0] ?? "") && !reservedAlone.includes(path))
    .map((path) => `/${path}`);

const isNested = (path: string, other: string): boolean => path !== other && path.startsWith(`${other}/`);

/** Up to `max` mounts, sorted by path, none inside another. Several may have the same volume. */
export const mounts = (max: number = fieldLimits.mounts.max): fc.Arbitrary<readonly Mount[]> => {
  const mount = fc
    .record({
      path: mountPath(),
      volume: volumeName(),
      readOnly: fc.boolean(),
      subPath: fc.option(parts(), { nil: undefined }),
    })
    .map(({ subPath, ...rest }): Mount => (subPath === undefined ? rest : { ...rest, subPath }));
  return fc
    .uniqueArray(mount, { maxLength: max, selector: ({ path }) => path, size: "max" })
    .map((all) => all.filter((one) => !all.some((other) => isNested(one.path, other.path))))
    .map((all) => all.toSorted((a, b) => (a.path < b.path ? -1 : 1)));
};

/** A mount declaration. */
export interface MountCase {
  /** The JSON value that a client sends. */
  readonly declaration: Readonly<Record<string, unknown>>;
  /** The mounts that the declaration means. */
  readonly mounts: readonly Mount[];
}

const declared = ({ volume, readOnly, subPath }: Mount, short: boolean): unknown => {
  if (short && !readOnly && subPath === undefined) return volume;
  return {
    name: volume,
    ...(readOnly || !short ? { read_only: readOnly } : {}),
    ...(subPath === undefined ? {} : { sub_path: subPath }),
  };
};

/** Declarations of up to `max` mounts in any order. Each is in object form, or in short form if that can express it. */
export const mountDeclaration = (max?: number): fc.Arbitrary<MountCase> =>
  mounts(max).chain((all) =>
    fc
      .tuple(
        fc.shuffledSubarray([...all], { minLength: all.length }),
        fc.array(fc.boolean(), { minLength: all.length, maxLength: all.length }),
      )
      .map(([shuffled, short]) => ({
        mounts: all,
        declaration: Object.fromEntries(shuffled.map((one, index) => [one.path, declared(one, short[index] === true)])),
      })),
  );
