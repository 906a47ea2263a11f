/** The built site: its pages, their links and resources, and its search. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import MiniSearch from "minisearch";

const attributes = (html: string, tag: string, name: string): string[] =>
  [...html.matchAll(new RegExp(`<${tag}\\b[^>]*?\\s${name}="([^"]*)"`, "g"))].map((match) => match[1] as string);

const isOutside = (address: string): boolean => /^([a-z]+:|\/\/)/i.test(address);

/** The page without its frame: the content of its Markdown. */
const contentOf = (html: string): string => html.slice(html.indexOf('<main class="main"'), html.indexOf("</main>"));

export class BuiltSite {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get pages(): readonly string[] {
    return globSync("**/*.html", { cwd: this.#folder }).sort();
  }

  #read(page: string): string {
    return readFileSync(join(this.#folder, page), "utf8");
  }

  /** The problem of a page's link; undefined if it is valid. */
  #problem(page: string, href: string): string | undefined {
    const [path = "", anchor] = decodeURI(href).split("#");
    const target = path === "" ? page : relative(this.#folder, resolve(this.#folder, dirname(page), path));
    if (!existsSync(join(this.#folder, target))) return `${page}: ${href} leads to no file`;
    if (anchor === undefined || anchor === "") return undefined;
    return this.#read(target).includes(` id="${anchor}"`) ? undefined : `${page}: ${href} leads to no heading`;
  }

  /** Broken links within the site. */
  brokenLinks(): string[] {
    return this.pages.flatMap((page) => {
      const html = this.#read(page);
      const inside = [...attributes(html, "a", "href"), ...attributes(html, "img", "src")].filter(
        (one) => !isOutside(one),
      );
      return inside.flatMap((href) => this.#problem(page, href) ?? []);
    });
  }

  /** The link targets of a page's content, without the frame and its own headings. */
  linksOf(page: string): string[] {
    return attributes(contentOf(this.#read(page)), "a", "href").filter((href) => !href.startsWith("#"));
  }

  /** Every URL that a browser would load from another host. */
  foreign(): string[] {
    const inPages = this.pages.flatMap((page) => {
      const html = this.#read(page);
      const loaded = [
        ...attributes(html, "link", "href"),
        ...["script", "img", "iframe", "source"].flatMap((tag) => attributes(html, tag, "src")),
      ];
      return loaded.filter(isOutside).map((address) => `${page}: ${address}`);
    });
    const inStyles = globSync("**/*.css", { cwd: this.#folder }).flatMap((file) =>
      [...this.#read(file).matchAll(/(?:url\(|@import\s+)["']?([a-z]+:)?\/\/[^"')]+/gi)].map(([found]) => found),
    );
    const inPrograms = globSync("**/*.js", { cwd: this.#folder }).flatMap((file) =>
      [...this.#read(file).matchAll(/(?:\bimport|\bfetch|importScripts)\(\s*["'`]https?:[^"'`]+/g)].map(
        ([found]) => `${file}: ${found}`,
      ),
    );
    return [...inPages, ...inStyles, ...inPrograms];
  }

  /** The pages that the search box would list for a query, best first. */
  async search(words: string): Promise<string[]> {
    const [file = ""] = globSync("assets/chunks/@localSearchIndexroot.*.js", { cwd: this.#folder });
    const { default: index } = (await import(pathToFileURL(join(this.#folder, file)).href)) as { default: string };
    const search = MiniSearch.loadJSON<{ id: string }>(index, {
      fields: ["title", "titles", "text"],
      storeFields: ["title", "titles"],
    });
    return search.search(words, { combineWith: "AND" }).map(({ id }) => String(id).split("#")[0] as string);
  }
}
