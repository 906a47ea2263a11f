/** Generates the list of decisions from the titles of their pages. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GENERATED } from "./markdown.ts";

const FOLDER = "docs/decisions";

const titleOf = (file: string): string => {
  const [first = ""] = readFileSync(join(FOLDER, file), "utf8").split("\n");
  return first.replace(/^# \d+\. /, "");
};

export const decisions = (): string => {
  const files = readdirSync(FOLDER).filter((name) => /^\d{4}-.*\.md$/.test(name));
  const lines = files.sort().map((file) => `- **${Number(file.slice(0, 4))}** [${titleOf(file)}](${file})`);
  return `# Decisions

${GENERATED}

Each page records one choice between alternatives: the context, the decision with the rejected alternatives, and the
consequences. The status of a replaced decision names its replacement. Numbers are not reused. The contents of 22 and 27 are
now in the sections about the fakes of the clouds in [gcp.md](../providers/gcp.md#assumptions-of-the-fakes) and
[aws.md](../providers/aws.md#assumptions-of-the-fakes).

${lines.join("\n")}
`;
};
