/** Environments that a deployment may declare: unusual valid names, and values of any text. */
import fc from "fast-check";
import type { Environment } from "../../core/domain/deploy/environment.ts";
import { character } from "./characters.ts";

const head = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

const reserved = /^(?:PORT|CRON_TOKEN)$|^(?:K_|PORTSIDE_)/;

/** Any valid name, including names of object properties and names similar to reserved ones. */
export const variableName = (): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom("__proto__", "constructor", "toString", "_", "PATH", "PORTS", "port", "CRON_TOKEN_2", "k_service"),
    fc
      .tuple(fc.constantFrom(...head), fc.string({ unit: fc.constantFrom(...`${head}0123456789`), maxLength: 20 }))
      .map((both) => both.join(""))
      .filter((name) => !reserved.test(name)),
  );

/** Any text without a null byte, including the empty text, other scripts, line ends and quotes. */
export const variableValue = (): fc.Arbitrary<string> =>
  fc
    .oneof(
      fc.constantFrom("", " ", "debug", "a=b", "line\nline", "\r\n", '"quoted"', "grüß 数据 😀", "\u202eabc", "{}"),
      fc.string({ unit: character(), maxLength: 60 }),
    )
    .map((value) => value.replaceAll("\0", ""));

/** Up to eight variables. `__proto__` may be an own property, as in the result of `JSON.parse`. */
export const environment = (): fc.Arbitrary<Environment> =>
  fc
    .uniqueArray(fc.tuple(variableName(), variableValue()), { maxLength: 8, selector: ([name]) => name })
    .map((pairs) => Object.fromEntries(pairs));
