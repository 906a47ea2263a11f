/** Drops files and folders of the disk on a page. */
import type { Page } from "playwright-core";

/** Drops files of the disk on an element, as a file manager does. */
export const dropFiles = async (page: Page, selector: string, paths: readonly string[]): Promise<void> => {
  await page.locator(selector).scrollIntoViewIfNeeded();
  const box = await page.locator(selector).boundingBox();
  const [x, y] = [(box?.x ?? 0) + 40, (box?.y ?? 0) + 20];
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...paths], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, x, y, data });
};
