/** The pages of the site, in the order in which somebody new would read them. A test holds it to the folder. */

import { posix } from "node:path";

interface Page {
  readonly text: string;
  readonly link: string;
}

interface Group {
  readonly text: string;
  readonly items: readonly Page[];
}

const group = (text: string, pages: Readonly<Record<string, string>>): Group => ({
  text,
  items: Object.entries(pages).map(([link, words]) => ({ text: words, link: `/${link}` })),
});

/** What the package exports, what most people need first. */
const subpaths = [
  "",
  "http",
  "memory",
  "local",
  "gcp",
  "aws",
  "ports",
  "testing",
  "composition",
  "metrics",
  "tracing",
  "postgres",
  "billing",
];

export const navigation: readonly Group[] = [
  group("Start", {
    "docs/quickstart": "Quickstart",
    "docs/glossary": "Glossary",
    "docs/": "All pages",
  }),
  group("Using", {
    "docs/commands": "Commands",
    "docs/portside-json": "portside.json",
    "docs/environment": "Environment",
    "docs/api": "HTTP API",
    "docs/logs": "Logs",
    "docs/volumes": "Volumes",
    "docs/python": "Python",
    "docs/schedules": "Schedules",
    "docs/sql": "SQL",
    "docs/cost": "Cost",
  }),
  group("Embedding", {
    "docs/embedding": "In your own service",
    "docs/nestjs": "NestJS",
    "docs/bundling": "Bundling",
    "docs/examples": "Examples",
    "docs/testing-deploy-rules": "Testing deploy rules",
    "docs/writing-an-adapter": "Writing an adapter",
    "docs/dependencies": "Dependencies",
  }),
  group(
    "Reference",
    Object.fromEntries(
      subpaths.map((name) => [`docs/reference/portside${name === "" ? "" : `-${name}`}`, posix.join("portside", name)]),
    ),
  ),
  group("Providers", {
    "docs/capabilities": "Capabilities",
    "docs/local-engine": "The local engine",
    "docs/gcp": "Google Cloud",
    "docs/aws": "Amazon Web Services",
    "docs/running-on-clouds": "Running the server on them",
  }),
  group("Operating", {
    "docs/configuration": "Configuration",
    "docs/operations": "Operations",
    "docs/observability": "Metrics and traces",
    "docs/security": "Security",
    "docs/limits": "Limits",
    "docs/sandbox": "Refused kernel calls",
    "docs/errors": "Errors",
    "docs/performance": "Performance",
  }),
  group("Project", {
    "docs/architecture": "Architecture",
    "docs/decisions/": "Decisions",
    "docs/testing": "Testing",
    "docs/mutation": "Mutation testing",
    CONTRIBUTING: "Contributing",
    SECURITY: "Reporting a vulnerability",
    CHANGELOG: "Changes",
  }),
];
