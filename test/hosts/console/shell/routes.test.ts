/** The URLs of the console's pages. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { fragmentOf, parseFragment, type Route, sections } from "../../../../hosts/console/shell/routes.ts";

test.each<[string, Route]>([
  ["", { page: "deployments" }],
  ["#/", { page: "deployments" }],
  ["#/deployments", { page: "deployments" }],
  ["#/deployments/my-app", { page: "deployment", name: "my-app", section: "overview" }],
  ["#/deployments/my-app/logs", { page: "deployment", name: "my-app", section: "logs" }],
  ["#/deployments/my-app/settings", { page: "deployment", name: "my-app", section: "settings" }],
  ["#/deploy", { page: "new-deploy" }],
  ["#/deploy/abc", { page: "unknown" }],
  ["#/volumes", { page: "volumes" }],
  ["#/volumes/my-data", { page: "volume", name: "my-data" }],
  ["#/volumes/my-data/more", { page: "unknown" }],
  ["#/domains", { page: "domains" }],
  ["#/sql", { page: "sql" }],
  ["#/deploys", { page: "deploys" }],
  ["#/deploys/abc", { page: "deploy", id: "abc" }],
  ["#/cost", { page: "cost" }],
  ["#/account", { page: "account" }],
  ["#/account/keys", { page: "unknown" }],
  ["#/deployments/my-app/nothing", { page: "unknown" }],
  ["#/nothing", { page: "unknown" }],
  ["#/deploys/%zz", { page: "deploy", id: "%zz" }],
])("'%s' is the URL of a page", (fragment, route) => {
  expect(parseFragment(fragment).route).toEqual(route);
});

test("any page and its parameters survive conversion to a URL and back", () => {
  const text = fc.string({ unit: "grapheme", minLength: 1 }).filter((one) => one.isWellFormed());
  const route = fc.oneof(
    fc.constant<Route>({ page: "deployments" }),
    fc.constantFrom<Route>({ page: "new-deploy" }, { page: "deploys" }, { page: "cost" }, { page: "account" }),
    fc.constantFrom<Route>({ page: "volumes" }, { page: "domains" }, { page: "sql" }),
    text.map((id): Route => ({ page: "deploy", id })),
    text.map((name): Route => ({ page: "volume", name })),
    fc.record({ page: fc.constant("deployment" as const), name: text, section: fc.constantFrom(...sections) }),
  );
  fc.assert(
    fc.property(route, text, (one, query) => {
      expect(parseFragment(fragmentOf(one, { query, empty: "" }))).toEqual({ route: one, query: { query } });
    }),
  );
});
