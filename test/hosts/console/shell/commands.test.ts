/** The search of the command palette. */
import { expect, test } from "vitest";
import { type Command, findCommands } from "../../../../hosts/console/shell/commands.ts";

const commands = ["Deployments", "shop-api", "shop-api logs", "Restart shop-api", "workshop"].map(
  (label): Command => ({ id: label, label, group: "Page", run: () => undefined }),
);
const found = (search: string, max = 10) => findCommands(commands, search, max).map(({ label }) => label);

test("without a search, keeps the order of the commands", () => {
  expect(found("", 2)).toEqual(["Deployments", "shop-api"]);
});

test("shows matches at the start first, then matches of a word, then others", () => {
  expect(found("SHOP")).toEqual(["shop-api", "shop-api logs", "Restart shop-api", "workshop"]);
});

test("requires every word, in any order", () => {
  expect(found("logs shop")).toEqual(["shop-api logs"]);
  expect(found("logs nothing")).toEqual([]);
});

test("treats special characters as text", () => {
  expect(found("shop-api (")).toEqual([]);
  expect(found(".*")).toEqual([]);
});
