/**
 * Builds the documentation as a searchable website: `npm run docs:site` writes it to docs/.site. VitePress reads the
 * repository's Markdown in place, so every link works on the site and in a repository viewer.
 */
import { defineConfig } from "vitepress";
import { navigation } from "./navigation.ts";
import { writeRedirects } from "./redirects.ts";
import { repositoryLinks } from "./repository-links.ts";

export default defineConfig({
  title: "Portside",
  description: "An embeddable serverless control plane.",
  lang: "en",
  srcDir: "..",
  srcExclude: ["{adapters,core,examples,hosts,node_modules,test}/**", ".*/**"],
  outDir: ".site",
  // Works under any path of any web server.
  base: "./",
  rewrites: (path) => path.replace(/README\.md$/, "index.md"),
  ignoreDeadLinks: false,
  markdown: { config: repositoryLinks },
  buildEnd: ({ outDir }) => writeRedirects(outDir),
  themeConfig: {
    search: { provider: "local" },
    sidebar: navigation.map(({ text, items }) => ({ text, items: [...items] })),
    outline: [2, 3],
  },
});
