/** How long the running process waits for the new process of an upgrade. */
import { expect, test } from "vitest";
import { answerMs } from "../../../../../hosts/cli/server/upgrade/new-process.ts";

const runningWith = (services: number) => ({
  socket: "",
  ports: [],
  services: Array.from({ length: services }, (_, index) => `app-${index}` as never),
});

test("the first answer may take as long as the slowest starts of all running services, four at a time", () => {
  for (const services of [0, 1, 60, 200]) {
    const slowestMs = Math.ceil(services / 4) * 60_000;
    expect(answerMs({ kind: "open", running: runningWith(services), apiPort: 0 })).toBeGreaterThan(slowestMs);
  }
});

test("later answers have a fixed limit, because connections wait for them", () => {
  expect(answerMs({ kind: "settle", running: runningWith(200) })).toBe(120_000);
  expect(answerMs({ kind: "ready" })).toBe(120_000);
});
