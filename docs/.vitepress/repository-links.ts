/**
 * Converts links of a repository viewer to links of the site. A README is the index page of its folder. A link to a
 * source file or a folder becomes plain text, because the site contains only pages.
 */
import type { MarkdownOptions } from "vitepress";

type Markdown = Parameters<NonNullable<MarkdownOptions["config"]>>[0];
type Token = ReturnType<Markdown["parse"]>[number];

const isElsewhere = (href: string): boolean => /^([a-z]+:|#)/.test(href);
const isPage = (href: string): boolean => /\.md(#|$)/.test(href);

const withSiteLinks = (children: readonly Token[]): Token[] => {
  let named = false;
  return children.filter((token) => {
    if (token.type === "link_close" && named) {
      named = false;
      return false;
    }
    const href = token.type === "link_open" ? token.attrGet("href") : null;
    if (href === null || isElsewhere(href)) return true;
    if (isPage(href)) token.attrSet("href", href.replace(/README\.md/, "index.md"));
    else named = true;
    return !named;
  });
};

export const repositoryLinks = (md: Markdown): void => {
  md.core.ruler.push("repository-links", ({ tokens }) => {
    for (const token of tokens) if (token.children !== null) token.children = withSiteLinks(token.children);
  });
};
