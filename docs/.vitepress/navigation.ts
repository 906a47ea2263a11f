/** The pages of the site, in reading order. A test compares them with the folder. */

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

/** The subpaths of the package, the most used first. */
export const subpaths = [
  "",
  "http",
  "client",
  "memory",
  "local",
  "gcp",
  "aws",
  "ports",
  "simulation",
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
    "docs/reference/commands": "Commands",
    "docs/reference/project-file": "portside.json",
    "docs/guides/environment": "Environment",
    "docs/reference/api": "HTTP API",
    "docs/deploy": "Deploying",
    "docs/logs": "Logs",
    "docs/volumes": "Volumes",
    "docs/secrets": "Secrets",
    "docs/domains": "Domains",
    "docs/guides/python": "Python",
    "docs/schedules": "Schedules",
    "docs/sql": "SQL",
    "docs/usage": "Usage and cost",
    "docs/accounts": "Accounts and keys",
    "docs/console": "Console",
  }),
  group("Embedding", {
    "docs/guides/embedding": "Embedding",
    "docs/guides/nestjs": "NestJS",
    "docs/guides/bundling": "Bundling",
    "docs/guides/examples": "Examples",
    "docs/guides/testing-deploy-rules": "Testing deploy rules",
    "docs/writing-an-adapter": "Writing an adapter",
    "docs/dependencies": "Dependencies",
  }),
  group(
    "Reference",
    Object.fromEntries(
      subpaths.map((name) => [`docs/exports/portside${name === "" ? "" : `-${name}`}`, posix.join("portside", name)]),
    ),
  ),
  group("Providers", {
    "docs/reference/capabilities": "Capabilities",
    "docs/providers/local": "The local provider",
    "docs/providers/gcp": "Google Cloud",
    "docs/providers/aws": "Amazon Web Services",
    "docs/operations/clouds": "The server on a cloud",
  }),
  group("Operating", {
    "docs/reference/configuration": "Configuration",
    "docs/operations/running": "Operations",
    "docs/operations/prove": "Prove an installation",
    "docs/operations/observability": "Metrics and traces",
    "docs/operations/security": "Security",
    "docs/reference/limits": "Limits",
    "docs/reference/sandbox": "Blocked system calls",
    "docs/reference/errors": "Errors",
    "docs/performance": "Performance",
  }),
  group("Project", {
    "docs/architecture": "Architecture",
    "docs/adding-an-endpoint": "Adding an endpoint",
    "docs/decisions/": "Decisions",
    "docs/contributing/testing": "Testing",
    "docs/contributing/mutation": "Mutation testing",
    CONTRIBUTING: "Contributing",
    SECURITY: "Reporting a vulnerability",
    CHANGELOG: "Changes",
  }),
];
