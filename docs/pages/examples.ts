/** The examples, file by file, as they come with the package. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MADE } from "./markdown.ts";

const FOLDER = "examples";

/** What each shows, in the order in which somebody new would read them. */
const about: Readonly<Record<string, string>> = {
  "embed-fastify":
    "The control plane in a Fastify application, behind its own authenticator, with its own logger and clock.",
  "embed-express":
    "The same behind an Express application's login: whoever has logged in is the caller, and there are no keys.",
  "embed-job": "No HTTP at all: a job that deploys a folder and reads its log.",
  "swap-provider": "One variable chooses between memory, local, gcp and aws.",
  "deploy-rules": "A company's own rules as policies, and a property that finds the bug of a first version.",
  "whole-application":
    "All of it together: a login of its own in front, one variable for the provider, policies, metrics, and a `SourceSpool` of its own.",
  "adapter-fs-only": "A `LogStore` in files, held to the contract suites.",
};

const codeOf = (example: string, file: string): string =>
  `\`${file}\`\n\n\`\`\`typescript\n${readFileSync(join(FOLDER, example, file), "utf8").trimEnd()}\n\`\`\``;

const sectionOf = ([example, words]: [string, string]): string => {
  const files = readdirSync(join(FOLDER, example)).filter((name) => name.endsWith(".ts"));
  return `## ${example}\n\n${words}\n\n${files.map((file) => codeOf(example, file)).join("\n\n")}`;
};

export const examplesPage = (): string => `# Examples

${MADE}

They come with the package (\`node_modules/portside/examples\`), each with its own \`package.json\`; copy a folder to where it
can grow. Every one is run by a test.

${Object.entries(about).map(sectionOf).join("\n\n")}
`;
