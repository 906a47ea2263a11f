/** The console in Chromium: its size, its start on a slow processor, and its lists of log lines. */
import { existsSync } from "node:fs";
import { has } from "../../support/vitest/machine.ts";
import { type Bench, type Goal, skipped } from "../bench.ts";
import { startPeer } from "../processes.ts";

/** An hour of 50 lines per second. */
const FOLLOWED = 180_000;
const SCROLLED = 100_000;
/** `--small` only checks that the benchmarks work. */
const SMALL = 10_000;

interface Measurement {
  readonly measure: string;
  readonly title: string;
  readonly unit: string;
  readonly most: number;
}

const measurements: readonly Measurement[] = [
  { measure: "bytes", title: "transferred files of the first view", unit: "kB", most: 60 },
  {
    measure: "paint",
    title: "first paint of the list of deployments, with a processor slowed down four times",
    unit: "ms",
    most: 1000,
  },
  {
    measure: "interactive",
    title: "time until the list of deployments is complete, with a processor slowed down four times",
    unit: "ms",
    most: 2500,
  },
  {
    measure: "memory",
    title: `heap after following ${FOLLOWED} lines, an hour of 50 lines per second, fed as fast as the page reads`,
    unit: "MB",
    most: 200,
  },
  {
    measure: "scroll",
    title: `longest task while scrolling ${SCROLLED} lines; 50 if no task is longer`,
    unit: "ms",
    most: 100,
  },
];

const benchOf = ({ measure, title, unit, most }: Measurement): Bench => ({
  name: `console-${measure}`,
  title,
  unit,
  goals: [{ at: "most", bound: most } satisfies Goal],
  prepare: async ({ small }) => {
    if (!has("chromium")) return skipped("chromium is not available (Debian: chromium)");
    if (!existsSync("dist/console/index.html"))
      throw new Error("The console is not built. Run `npm run console:build`.");
    const lines = small ? [SMALL, SMALL] : [FOLLOWED, SCROLLED];
    const browser = await startPeer("test/bench/console/measure.ts", ...lines.map(String));
    return {
      subject: {
        name: "console",
        measure: async () => {
          const response = await fetch(`http://127.0.0.1:${browser.port}/${measure}`);
          const text = await response.text();
          if (!response.ok) throw new Error(text);
          return Number(text);
        },
      },
      peers: [],
      [Symbol.asyncDispose]: () => browser[Symbol.asyncDispose](),
    };
  },
});

export const consoleBenches: readonly Bench[] = measurements.map(benchOf);
