/** `portside version` */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Command } from "../command.ts";
import { print } from "../terminal/io.ts";

/** The package's own version, whether it runs from source or built. */
export const packageVersion = (): string => {
  const path = fileURLToPath(import.meta.resolve("portside/package.json"));
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
};

export const command: Command = {
  usage: "version",
  options: {},
  examples: ["version"],
  run: async (_input, io) => {
    print(io, packageVersion());
    return 0;
  },
};
