import { vi } from "vitest";
import type { ServedConsole } from "./served-console.ts";

/** Starts the process that adds up costs. On a busy machine, the first queries may fail. */
export const startSql = async (served: ServedConsole): Promise<void> => {
  await vi.waitFor(() => served.client.getCost({ by: "day" }), { timeout: 200_000, interval: 500 });
};
