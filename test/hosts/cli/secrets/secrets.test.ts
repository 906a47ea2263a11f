/** `portside secret` and `deploy --secret` against the real HTTP API over the memory provider, and `rekey` on a folder. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLocalProvider, restoreDataFolder } from "../../../../adapters/local/index.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside, type RunOptions } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { principalOf } from "../../../support/providers/local-platform.ts";

const start = async () => {
  const api = await serveMemory();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  return { api, run: (args: string, options: RunOptions = {}) => portside(args.split(" "), { env, ...options }) };
};

const project = (more: object = {}): Record<string, string> => ({
  "package.json": "{}",
  "portside.json": JSON.stringify({ name: "my-app", volumes: {}, ...more }),
});

test("a secret is set from a pipe, used by a deploy, set again with a redeploy, listed and deleted", async () => {
  const { api, run } = await start();
  await using _api = api;
  const seen: string[] = [];
  const did = async (args: string, options?: RunOptions) => {
    const result = await run(args, options);
    seen.push(result.stdout, result.stderr);
    return result;
  };
  expect(await did("secret list")).toMatchObject({ stderr: expect.stringContaining("You have no secrets.") });
  const pem = "-----BEGIN hunter2-----\nline\n-----END-----\n";
  expect(await did("secret set KEY", { stdin: pem })).toEqual({
    code: 0,
    stdout: "Stored version 1 of 'KEY'.\n",
    stderr: "",
  });

  using folder = folderWith(project({ env: { FIXED: { secret: "KEY", version: 1 } } }));
  expect(await did(`deploy ${folder.path} --secret TOKEN=KEY --secret ALSO=KEY:1`)).toMatchObject({ code: 0 });
  const [release] = JSON.parse((await did("releases my-app --json")).stdout);
  const first = "secret:KEY:1";
  expect(release.declaration.env).toEqual({ FIXED: first, TOKEN: first, ALSO: first });

  expect(await did("secret set KEY --stage", { stdin: "hunter2-b" })).toMatchObject({
    stdout: "Stored version 2 of 'KEY'.\n",
  });
  const set = await did("secret set KEY", { stdin: "hunter2-c" });
  expect(set).toMatchObject({ code: 0 });
  expect(set.stdout).toContain("Stored version 3 of 'KEY'.\n\nRedeploying 'my-app'\n");
  expect(set.stdout.trim().split("\n").at(-1)).toBe("https://my-app.memory.invalid");

  const [json] = JSON.parse((await did("secret list --json")).stdout);
  expect(json).toMatchObject({
    name: "KEY",
    used_by: [
      { name: "my-app", version: 3 },
      { name: "my-app", version: 1 },
    ],
  });
  const [row] = (await did("secret ls")).stdout.trim().split("\n");
  expect(row?.split("\t").filter((_, column) => column !== 2)).toEqual([
    "KEY",
    "3, 2, 1",
    "my-app (version 3), my-app (version 1)",
  ]);

  expect(await did("secret delete KEY -y")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is used by 'my-app'"),
  });
  expect(await did("secret delete KEY --version 2 -y")).toMatchObject({
    code: 0,
    stdout: "Version 2 of 'KEY' was deleted.\n",
  });
  expect(await did("secret delete KEY --version two -y")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("version"),
  });
  expect(seen.join("")).not.toContain("hunter2");
});

test("the value is typed on a terminal without echo, and a deletion asks first", async () => {
  const { api, run } = await start();
  await using _api = api;
  const set = await run("secret set KEY", { typed: "hunter3\x7f2\r", columns: 80 });
  expect(set).toMatchObject({ code: 0, stderr: "Value of 'KEY': \n" });
  expect(await run("secret set KEY --json", { stdin: "hunter2" })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"version":1'),
  });
  expect(await run("secret delete KEY")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Confirm with -y."),
  });
  expect(await run("secret delete KEY", { typed: "n\n" })).toMatchObject({ code: 1 });
  expect(await run("secret delete KEY", { typed: "y\n" })).toMatchObject({ code: 0 });
});

const pem = ["-----BEGIN hunter2-----", "line", "-----END hunter2-----"];
const bytes = (text: string) => [...Buffer.from(text)].map((byte) => Uint8Array.of(byte));

test.each<[string, RunOptions, string]>([
  ["spaces of a typed value", { typed: "  hunter2 \r" }, "  hunter2 "],
  ["a typed line that ends with CRLF", { typed: ["hunter2\r", "\n"] }, "hunter2"],
  ["typed characters that arrive in parts", { typed: bytes("\ufeffpäss 🔑\r") }, "\ufeffpäss 🔑"],
  ["a typed character that is deleted", { typed: "a🔑\x7fb\r" }, "ab"],
  ["a byte order mark", { stdin: Buffer.from("\ufeffhunter2\n") }, "\ufeffhunter2"],
  ["the lines of a file", { stdin: `${pem.join("\r\n")}\r\n` }, pem.join("\r\n")],
])("stores %s", async (_what, options, value) => {
  const { api, run } = await start();
  await using _api = api;
  expect(await run("secret set KEY", options)).toMatchObject({ code: 0 });
  // Setting the current value again creates no version.
  const again = await api.call("POST", "/v1/secret/set", { json: { name: "KEY", value } });
  expect(again.json).toMatchObject({ version: 1 });
});

const oneLine = "The prompt takes one line. For a multi-line value, run 'portside secret set KEY < FILE'.";
const notUtf8 = "The value is not valid UTF-8. Encode it as base64";
const latin1 = Buffer.from("p\u00e4ss hunter2\n", "latin1");

test.each<[string, RunOptions, string]>([
  ["a paste of several lines", { typed: `${pem.join("\r")}\r` }, oneLine],
  ["a paste that continues in the next chunk", { typed: [`${pem[0]}\r`, "line\r"] }, oneLine],
  ["an empty line after the value", { typed: "hunter2\n\n" }, oneLine],
  ["bytes that are not UTF-8", { stdin: latin1 }, notUtf8],
  ["typed bytes that are not UTF-8", { typed: [latin1] }, notUtf8],
])("stores nothing for %s", async (_what, options, message) => {
  const { api, run } = await start();
  await using _api = api;
  const set = await run("secret set KEY", options);
  expect(set).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
  expect(set.stderr).not.toContain("hunter2");
  expect(JSON.parse((await run("secret list --json")).stdout)).toEqual([]);
});

test("errors name the problem and not the value", async () => {
  const { api, run } = await start();
  await using _api = api;
  const empty = await run("secret set KEY", { stdin: "\n" });
  expect(empty).toMatchObject({ code: 1, stderr: expect.stringContaining("value: must not be empty") });
  const large = await run("secret set 1KEY", { stdin: "hunter2".repeat(10_000) });
  expect(large.stderr).toContain("name: a secret name must start with a letter");
  expect(large.stderr).toContain("value: must be at most 65536 bytes; got 70000");
  expect(large.stderr).not.toContain("hunter2");
  expect(await run("secret set")).toMatchObject({ code: 2 });
  expect(await run("secret sett")).toMatchObject({ code: 2, stderr: expect.stringContaining("Did you mean 'set'?") });
  expect(await run("secret")).toMatchObject({ code: 2, stderr: expect.stringContaining("set|list|delete|rekey") });
  using folder = folderWith(project());
  expect(await run(`deploy ${folder.path} --secret TOKEN=NONE`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("env.TOKEN: your account has no secret 'NONE'"),
  });
  expect(await run(`deploy ${folder.path} --secret TOKEN`)).toMatchObject({ code: 2 });
  expect(await run(`deploy ${folder.path} --secret TOKEN=KEY:new`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("does not have the form VAR=NAME or VAR=NAME:VERSION"),
  });
});

test("rekey, backup and restore work on the data folder", async () => {
  using folder = folderWith();
  const at = (name: string) => join(folder.path, name);
  const data = at("data");
  {
    const local = await createLocalProvider({ dataDir: data, ingressPort: 0, runner: "process" });
    const set = { name: "KEY", value: "hunter2" };
    (await createControlPlane(local.ports).setSecret(principalOf("acme"), set))._unsafeUnwrap();
    expect(await portside(["secret", "rekey", "--data-dir", data])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Another Portside server uses the data folder"),
    });
    await local.close();
  }
  expect(await portside(["secret", "rekey", "--data-dir", data])).toMatchObject({
    code: 0,
    stdout: `Encrypted 1 version. The new key is in ${join(data, "secrets.key")}.\n`,
  });
  expect(await portside(["backup", at("backup.tar.gz"), "--data-dir", data])).toMatchObject({ code: 0 });
  const restored = await portside(["restore", at("backup.tar.gz"), "--data-dir", at("restored")]);
  expect(restored.stdout).toContain(
    `The file does not contain the secrets key. Copy the previous secrets.key to ${at("restored/secrets.key")}`,
  );
  const whole = ["backup", at("whole.tar.gz"), "--data-dir", data, "--with-secrets-key"];
  expect(await portside(whole)).toMatchObject({ code: 0 });
  expect(await restoreDataFolder({ file: at("whole.tar.gz"), dataDir: at("whole") })).toMatchObject({
    missingKey: undefined,
  });
  const outside = await portside([...whole, "--force"], { env: { PORTSIDE_SECRETS_KEY_FILE: at("key") } });
  expect(outside).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Copy that file, and omit --with-secrets-key"),
  });

  writeFileSync(join(data, "secrets.key"), `${"A".repeat(43)}=\n`);
  expect(await portside(["secret", "rekey", "--data-dir", data])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("does not contain the key"),
  });
  const discard = ["secret", "rekey", "--discard", "--data-dir", data];
  expect(await portside(discard)).toMatchObject({ code: 2, stderr: expect.stringContaining("Confirm with -y.") });
  expect(await portside([...discard, "-y", "--json"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"discarded":1'),
  });
});
