/** Checks pages with axe. */
import axe from "axe-core";
import type { ConsolePage } from "./browser.ts";

const STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Returns the violations of WCAG 2.2 AA on the page. */
export const violationsOf = async ({ page }: ConsolePage): Promise<string[]> => {
  // Through the debugger, because the page's policy forbids injected scripts.
  await page.evaluate(axe.source);
  const found = await page.evaluate(`axe.run(document, { runOnly: ${JSON.stringify(STANDARDS)} })`);
  const { violations } = found as { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] };
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
};
