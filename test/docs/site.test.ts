/** The documentation as a site, built like `npm run docs:site` builds it, into a temporary folder. */
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { build } from "vitepress";
import { afterAll, beforeAll, expect, test } from "vitest";
import { navigation } from "../../docs/.vitepress/navigation.ts";
import { redirects } from "../../docs/.vitepress/redirects.ts";
import { writeSitePages } from "../../docs/generate.ts";
import { BuiltSite } from "./built-site.ts";

let folder: string;
let site: BuiltSite;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portside-site-"));
  // Fails if a link leads to no page.
  await build("docs", { outDir: join(folder, "site") });
  site = new BuiltSite(join(folder, "site"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const decisions = globSync("docs/decisions/[0-9]*.md");
writeSitePages();

const isOnSiteOnly = (page: string): boolean => page.startsWith("docs/exports/") || page === "docs/guides/examples.md";
const pages = [
  ...globSync(["docs/*.md", "docs/{contributing,exports,guides,operations,providers,reference}/*.md"]),
  "docs/decisions/README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
];

test("every page of the documentation is built, and the README is the first", () => {
  const built = [...pages, ...decisions, "README.md"].map((file) =>
    file.replace(/README\.md$/, "index.md").replace(/\.md$/, ".html"),
  );
  const moved = Object.keys(redirects).map((page) => `docs/${page}.html`);
  expect(site.pages).toEqual([...built, ...moved, "404.html"].sort());
});

test("the old name of a page that moved redirects to the page", () => {
  for (const [from, to] of Object.entries(redirects))
    expect(site.linksOf(`docs/${from}.html`).map((href) => posix.join(posix.dirname(from), href))).toEqual([
      `${to}.html`,
    ]);
});

test("the navigation and the first page list every page once, and the page of decisions lists the decisions", () => {
  const first = site.linksOf("docs/index.html").map((href) => join("docs", href).replace(/html$/, "md"));
  const asSource = (file: string): string => file.replace(/index\.md$/, "README.md");
  expect(["docs/README.md", ...first.map(asSource)].sort()).toEqual(pages.filter((page) => !isOnSiteOnly(page)).sort());
  const listed = navigation.flatMap(({ items }) =>
    items.map(({ link }) => `${link.slice(1).replace(/\/$/, "/README")}.md`),
  );
  expect(listed.sort()).toEqual(pages.sort());
  const links = site.linksOf("docs/decisions/index.html");
  for (const file of decisions) expect(links).toContain(file.replace("docs/decisions/", "./").replace(/md$/, "html"));
});

test("every link within the site leads to a file, and to an existing heading if it names one", () => {
  expect(site.brokenLinks()).toEqual([]);
});

test("loads nothing from other hosts", () => {
  expect(site.foreign()).toEqual([]);
});

test.each([
  ["cursor exactly once", "docs/logs.html"],
  ["did_not_listen", "docs/reference/errors.html"],
  ["PORTSIDE_KEYS_DATABASE", "docs/reference/configuration.html"],
])("the search finds '%s' on %s", async (words, page) => {
  const found = await site.search(words);
  expect(found.slice(0, 5).map((path) => path.replace(/^(\.?\/)*/, ""))).toContain(page);
});
