/** The charts of a deployment. */
import { expect, test } from "vitest";
import { chartGroups, linesOf } from "../../../../hosts/console/usage/chart-groups.ts";
import { openApiDocument } from "../../../../hosts/http/docs/openapi.ts";

test("every series of the platform except informational responses has a line in one chart", () => {
  const document = JSON.stringify(openApiDocument({ prefix: "", health: false }));
  const metrics: string[] = JSON.parse(/"examples":(\["requests_1xx"[^\]]*\])/.exec(document)?.[1] ?? "[]");
  const shown = chartGroups.flatMap(({ lines }) => lines.map(([metric]) => metric));
  expect(shown.toSorted()).toEqual(metrics.filter((metric) => metric !== "requests_1xx").toSorted());
});

test("leaves out the lines of series that the platform does not measure", () => {
  const [requests] = chartGroups;
  expect(requests && linesOf(requests, [{ metric: "requests_5xx", points: [1] }])).toEqual([
    { label: "5xx", points: [1] },
  ]);
});
