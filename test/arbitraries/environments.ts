/** Environments that a deployment may declare: odd names that are legal, and values of any text. */
import fc from "fast-check";
import type { Environment } from "../../core/domain/deploy/environment.ts";
import { character } from "./characters.ts";

const head = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

const reserved = /^(?:PORT|CRON_TOKEN)$|^(?:K_|PORTSIDE_)/;

/** Names that objects already have, names near the reserved ones, and any other. */
export const variableName = (): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom("__proto__", "constructor", "toString", "_", "PATH", "PORTS", "port", "CRON_TOKEN_2", "k_service"),
    fc
      .tuple(fc.constantFrom(...head), fc.string({ unit: fc.constantFrom(...`${head}0123456789`), maxLength: 20 }))
      .map((both) => both.join(""))
      .filter((name) => !reserved.test(name)),
  );

/** Any text without a null byte: other scripts, line ends, quotes, nothing at all. */
export const variableValue = (): fc.Arbitrary<string> =>
  fc
    .oneof(
      fc.constantFrom("", " ", "debug", "a=b", "line\nline", "\r\n", '"quoted"', "grüß 数据 😀", "\u202eabc", "{}"),
      fc.string({ unit: character(), maxLength: 60 }),
    )
    .map((value) => value.replaceAll("\0", ""));

/** `__proto__` is an own property here, as in what `JSON.parse` makes. */
export const environment = (): fc.Arbitrary<Environment> =>
  fc
    .uniqueArray(fc.tuple(variableName(), variableValue()), { maxLength: 8, selector: ([name]) => name })
    .map((pairs) => Object.fromEntries(pairs));
