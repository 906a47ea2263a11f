/** For examples whose tests are vitest's: the package is this repository's sources. */
import { defineConfig } from "vitest/config";
import { sources } from "./sources.ts";

export default defineConfig({
  resolve: { alias: [...sources].map(([find, replacement]) => ({ find: new RegExp(`^${find}$`), replacement })) },
  test: { testTimeout: 120_000 },
});
