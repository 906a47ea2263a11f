/** The commands that the console copies, run by a real shell. */
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cliOf, curlOf, quote } from "../../../../hosts/console/components/shell-words.ts";

/** The words that a shell passes to a program. */
const wordsOf = (command: string): string[] =>
  execFileSync("sh", ["-c", `words() { for word; do printf '%s\\0' "$word"; done; }; words ${command}`], {
    encoding: "utf8",
    env: { PORTSIDE_API_KEY: "psk_test" },
  })
    .split("\0")
    .slice(0, -1);

test("leaves ordinary words unquoted", () => {
  expect(cliOf("rollback", "my-app", "3")).toBe("portside rollback my-app 3");
});

test("passes any word to the program unchanged", () => {
  const word = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0"));
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
      expect(wordsOf(words.map(quote).join(" "))).toEqual(words);
    }),
    { numRuns: 25 },
  );
});

test("writes a request as curl with the key in a variable", () => {
  const json = { name: "my-app", message: "it's $HOME" };
  const command = curlOf("http://127.0.0.1:8080", { method: "POST", path: "/v1/deployment/rollback", json });
  expect(wordsOf(command)).toEqual([
    ...["curl", "http://127.0.0.1:8080/v1/deployment/rollback", "-H", "x-api-key: psk_test"],
    ...["-H", "content-type: application/json", "-d", JSON.stringify(json)],
  ]);
});

test("writes a query into the URL", () => {
  const command = curlOf("https://api.example.com/p", {
    method: "GET",
    path: "/v1/metrics",
    query: { names: "a,b c" },
  });
  expect(wordsOf(command)[1]).toBe("https://api.example.com/p/v1/metrics?names=a%2Cb+c");
});

test("writes a form with texts that curl does not interpret, and a file", () => {
  const form = { function_name: "my-app", env: '{"A":"@b;type=c"}' };
  const files = { source_archive: "source.tar.gz" };
  const command = curlOf("https://api.example.com", { method: "POST", path: "/v1/deploy", form, files });
  expect(wordsOf(command)).toEqual([
    ...["curl", "https://api.example.com/v1/deploy", "-H", "x-api-key: psk_test"],
    ...["--form-string", "function_name=my-app", "--form-string", `env=${form.env}`],
    ...["-F", "source_archive=@source.tar.gz"],
  ]);
});
