/** The list of decisions, from the titles of their pages. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MADE } from "./markdown.ts";

const FOLDER = "docs/decisions";

const titleOf = (file: string): string => {
  const [first = ""] = readFileSync(join(FOLDER, file), "utf8").split("\n");
  return first.replace(/^# \d+\. /, "");
};

export const decisions = (): string => {
  const files = readdirSync(FOLDER).filter((name) => /^\d{4}-.*\.md$/.test(name));
  const lines = files.sort().map((file) => `- **${Number(file.slice(0, 4))}** [${titleOf(file)}](${file})`);
  return `# Decisions

${MADE}

Choices that had alternatives, each on a page: the problem, what was chosen, instead of what, and what follows from it.

${lines.join("\n")}
`;
};
