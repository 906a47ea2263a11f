/** For examples with vitest tests: resolves the package to the sources of this repository. */
import { defineConfig } from "vitest/config";
import { sources } from "./sources.ts";

export default defineConfig({
  resolve: { alias: [...sources].map(([find, replacement]) => ({ find: new RegExp(`^${find}$`), replacement })) },
  test: { testTimeout: 240_000 },
});
