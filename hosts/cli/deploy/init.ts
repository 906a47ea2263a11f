/** `portside init` */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { deploymentNameProblem } from "../../../core/domain/wire/names.ts";
import { templates } from "../../packer/templates.ts";
import { option } from "../arguments.ts";
import type { Command } from "../command.ts";
import { type Io, print, UsageError } from "../terminal/io.ts";

const portsideJson = (name: string): string =>
  `${JSON.stringify({ $schema: "https://unpkg.com/portside/schema/portside.json", name, memory: "256Mi", volumes: {} }, null, 2)}\n`;

const ignore = "# Files not to deploy, in addition to .gitignore, node_modules, .git and .env files.\n*.log\n*.md\n";

const writeNew = (io: Io, folder: string, files: Readonly<Record<string, string>>): void => {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    if (existsSync(path)) print(io, `kept     ${path} (exists)`);
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text, { flag: "wx" });
      print(io, `wrote    ${path}`);
    }
  }
};

export const command: Command = {
  usage: "init [NAME] [--template node|python]",
  options: {
    template: option("NAME", "Choose node (default) or python", { short: "t", choices: Object.keys(templates) }),
  },
  positionals: { min: 0, max: 1 },
  examples: ["init hello", "init hello --template python"],
  notes: ["Writes to the folder NAME or, without NAME, to the current folder. Does not overwrite files."],
  run: async (input, io) => {
    const [given] = input.positionals;
    const folder = given === undefined ? io.cwd : resolve(io.cwd, given);
    const name = basename(folder).replaceAll("_", "-");
    const problem = deploymentNameProblem(name);
    if (problem !== undefined) throw new UsageError(`'${name}' is not a valid deployment name: ${problem}.`);
    const template = input.text("template") ?? "node";
    const files = Object.entries(templates).find(([name]) => name === template)?.[1];
    if (files === undefined)
      throw new UsageError(`Unknown template '${template}'. Choose ${Object.keys(templates).join(" or ")}.`);
    writeNew(io, folder, { ...files(name), "portside.json": portsideJson(name), ".portsideignore": ignore });
    const where = given === undefined ? "" : ` ${given}`;
    print(io, `\nNext: run it here with 'portside run${where}', or deploy it with 'portside deploy${where}'.`);
    return 0;
  },
};
