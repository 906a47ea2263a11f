/** Generates the page of examples from the files that the package contains. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GENERATED } from "./markdown.ts";

const FOLDER = "examples";

/** The description of each example, in reading order. */
const descriptions: Readonly<Record<string, string>> = {
  "embed-fastify":
    "The control plane in a Fastify application, behind its own authenticator, with its own logger and clock.",
  "embed-express": "The control plane in an Express application: the logged-in user is the caller, without API keys.",
  "embed-job": "A job without HTTP that deploys a folder and reads its log.",
  "swap-provider": "A program whose provider (memory, local, gcp or aws) depends on one variable.",
  "deploy-rules": "Policies with a company's rules, and a property that detects a bug in their first version.",
  "whole-application":
    "All of these together: a login, one variable for the provider, policies, metrics, and a custom `SourceSpool`.",
  "adapter-fs-only": "A `LogStore` in files, tested by the contract suites.",
};

const codeOf = (example: string, file: string): string =>
  `\`${file}\`\n\n\`\`\`typescript\n${readFileSync(join(FOLDER, example, file), "utf8").trimEnd()}\n\`\`\``;

const sectionOf = ([example, words]: [string, string]): string => {
  const files = readdirSync(join(FOLDER, example)).filter((name) => name.endsWith(".ts"));
  return `## ${example}\n\n${words}\n\n${files.map((file) => codeOf(example, file)).join("\n\n")}`;
};

export const examplesPage = (): string => `# Examples

${GENERATED}

The package contains the examples (\`node_modules/portside/examples\`), each with its own \`package.json\`. Copy a folder to start your own
project. A test runs every example.

${Object.entries(descriptions).map(sectionOf).join("\n\n")}
`;
