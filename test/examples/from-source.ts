/**
 * Makes examples import the package as users do, from this repository's sources: `node --import
 * ./test/examples/from-source.ts examples/swap-provider/main.ts`
 */
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { sources } from "./sources.ts";

registerHooks({
  resolve: (specifier, context, next) => {
    const path = sources.get(specifier);
    return path === undefined ? next(specifier, context) : { url: pathToFileURL(path).href, shortCircuit: true };
  },
});
