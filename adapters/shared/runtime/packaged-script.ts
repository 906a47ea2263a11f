/** Scripts of this package that run in a separate thread or process. */
import { existsSync } from "node:fs";

/**
 * Finds a script of the package. Returns null if a bundler moved the calling module. The script is then missing, or a
 * file at its path belongs to the application.
 *
 * @param moduleUrl the module's `import.meta.url`; undefined in a CommonJS bundle
 * @param module the module's path in the package, without its extension
 * @param script the script's path in the package, without its extension
 */
export const packagedScript = (moduleUrl: string | undefined, module: string, script: string): URL | null => {
  const extension = moduleUrl?.endsWith(".ts") === true ? ".ts" : ".js";
  const end = `/${module}${extension}`;
  if (moduleUrl?.endsWith(end) !== true) return null;
  const url = new URL(`${moduleUrl.slice(0, -end.length)}/${script}${extension}`);
  return existsSync(url) ? url : null;
};

export const scriptMissing = (what: string): string =>
  `${what} runs in a child process, but this bundle lacks its script. Mark 'portside' as external in the bundler (docs/guides/bundling.md).`;

/** Thrown by features that need a separate process and cannot work without its script. */
export class ScriptMissing extends Error {
  constructor(what: string) {
    super(scriptMissing(what));
  }
}
