/** `portside volume create|ls|rm|delete|restore` against the real HTTP API. */
import { describe, expect, test } from "vitest";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveVolume } from "../../../support/cli/volume-cli.ts";

describe("arguments", () => {
  test.each([
    [[], 2, "create|ls|put|get|rm|delete|restore"],
    [["putt"], 2, "Unknown subcommand 'volume putt'. Did you mean 'put'?"],
    [["frobnicate"], 2, "Unknown subcommand 'volume frobnicate'. Use create|"],
    [["constructor"], 2, "Unknown subcommand 'volume constructor'."],
    [["put", "data"], 2, "Missing SOURCE. Usage: portside volume put VOLUME SOURCE [PATH]"],
    [["put", "data", "a", "b", "c"], 2, "Unexpected argument 'c'."],
    [["rm", "data", "a", "--forse"], 2, "Unknown option '--forse'."],
    [["ls", "data", "--deleted"], 2, "Omit it to list the objects of a volume."],
    [["ls", "--folders"], 2, "Name the volume: portside volume ls VOLUME --folders."],
    [["rm", "data", "logs/"], 2, "with -r"],
    [["get", "data", "logs/", "-"], 2, "Standard output accepts a single object, not a folder."],
    [["get", "data", "../x"], 2, "must not have '.' or '..' as a part"],
  ])("%j", async (args, code, words) => {
    const ran = await portside(["volume", ...args], { env: { PORTSIDE_API_KEY: "psk_x" } });
    expect(ran).toMatchObject({ code, stdout: "" });
    expect(ran.stderr).toContain(words);
  });

  test("the help lists every subcommand, and each has its own help", async () => {
    const { code, stdout } = await portside(["volume", "--help"]);
    expect(code).toBe(0);
    for (const word of ["create", "ls", "put", "get", "rm", "delete", "restore"]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${word} `, "m"));
      const own = (await portside(["volume", word, "--help"])).stdout;
      expect(own).toContain(`portside volume ${word}`);
    }
    expect((await portside(["volume", "get", "--help"])).stdout).toContain("--force");
    expect((await portside(["volume", "put", "--help"])).stdout).not.toContain("--force");
  });
});

describe("create and ls", () => {
  test("creates a volume once, and lists it with the deployments that mount it", async () => {
    await using cli = await serveVolume();
    expect(await cli.volume(["create", "more"])).toMatchObject({ code: 0, stdout: "Created the volume 'more'.\n" });
    expect((await cli.volume(["create", "more"])).stdout).toBe("The volume 'more' already exists.\n");
    await cli.api.deploy({ function_name: "app", volumes: '{"/data": "data"}' }, nodeSource(helloServer()));
    expect((await cli.volume(["ls"])).stdout).toMatch(/^data\tapp\t\d+ s\nmore\t-\t\d+ s\n$/);
    expect((await cli.volume(["ls"], { columns: 80 })).stdout).toContain("ATTACHED TO");
    expect(JSON.parse((await cli.volume(["ls", "--json"])).stdout)).toMatchObject([
      { name: "data", attached_to: ["app"] },
      { name: "more", attached_to: [] },
    ]);
  });

  test("rejects an invalid name with the broken rule", async () => {
    await using cli = await serveVolume();
    const { code, stderr } = await cli.volume(["create", "Bad_Name"]);
    expect(code).toBe(1);
    expect(stderr).toContain("name:");
  });

  test("lists the folders below a prefix in place of the objects in them", async () => {
    await using cli = await serveVolume();
    for (const path of ["a.txt", "logs/2026/1", "logs/2026/2", "logs/latest", "z.txt"]) await cli.write(path, "12");
    const { stdout } = await cli.volume(["ls", "data", "--folders"]);
    expect(stdout).toMatch(/^a\.txt\t2 B\t\d+ s\nlogs\/\t-\t-\nz\.txt\t2 B\t\d+ s\n$/);
    const lines = (await cli.volume(["ls", "data", "logs/", "--folders", "--json"])).stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { folder: "logs/2026/" },
      { path: "logs/latest", size: 2, updated: expect.any(String) },
    ]);
    const none = await cli.volume(["ls", "data", "none/", "--folders"]);
    expect(none).toMatchObject({ code: 0, stdout: "", stderr: "'data' has no objects that start with 'none/'.\n" });
  });

  test("lists objects by prefix, page by page, with readable sizes, or as NDJSON", async () => {
    await using cli = await serveVolume();
    expect(await cli.volume(["ls", "data"])).toMatchObject({ code: 0, stdout: "", stderr: "'data' is empty.\n" });
    await cli.write("logs/a", "x".repeat(1536));
    await cli.write("logs/b", "");
    await cli.write("other", "12");
    expect((await cli.volume(["ls", "data", "logs/"])).stdout).toMatch(
      /^logs\/a\t1\.5 KiB\t\d+ s\nlogs\/b\t0 B\t\d+ s\n$/,
    );
    expect((await cli.volume(["ls", "data", "nothing"])).stderr).toContain("has no objects that start with 'nothing'");
    const lines = (await cli.volume(["ls", "data", "--json"])).stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { path: "logs/a", size: 1536 },
      { path: "logs/b", size: 0 },
      { path: "other", size: 2 },
    ]);
    const table = (await cli.volume(["ls", "data"], { columns: 80 })).stdout.split("\n");
    expect(table.slice(1, 3)).toEqual([
      expect.stringMatching(/^logs\/a {3}1\.5 KiB {2}\d+ s$/),
      expect.stringMatching(/^logs\/b {7}0 B {2}\d+ s$/),
    ]);
  });

  test("lists several pages completely, each object once", async () => {
    await using cli = await serveVolume();
    await cli.write("000", "x");
    const bucket = [...cli.api.memory.snapshot().volumes.values()][0];
    expect(bucket?.objects.size).toBe(1);
    // One object more than fits on a page.
    const paths = Array.from({ length: 1001 }, (_, index) => `f${String(index).padStart(5, "0")}`);
    for (let at = 0; at < paths.length; at += 50)
      await Promise.all(paths.slice(at, at + 50).map((path) => cli.write(path, "")));
    const { stdout } = await cli.volume(["ls", "data", "f"]);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.split("\t")[0]),
    ).toEqual(paths);
  });

  test("reports a missing volume and another account's volume", async () => {
    await using cli = await serveVolume();
    expect((await cli.volume(["ls", "nothing"])).stderr).toContain("Your account has no volume 'nothing'");
    const other = { PORTSIDE_API_KEY: await cli.api.key("other") };
    expect(await cli.volume(["ls", "data"], { env: other })).toMatchObject({ code: 1 });
  });
});

describe("rm", () => {
  test("requires -y without a terminal, asks on one, and deletes one object", async () => {
    await using cli = await serveVolume();
    await cli.write("a", "1");
    await cli.write("ab", "2");
    const refused = await cli.volume(["rm", "data", "a"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("-y");
    expect(await cli.volume(["rm", "data", "a"], { typed: "n\n" })).toMatchObject({ code: 1, stdout: "" });
    expect(await cli.paths()).toEqual(["a", "ab"]);
    expect(await cli.volume(["rm", "data", "a"], { typed: "y\n" })).toMatchObject({ code: 0 });
    expect(await cli.paths()).toEqual(["ab"]);
    expect((await cli.volume(["rm", "data", "a", "-y"])).stderr).toContain("'data' has no object 'a'");
  });

  test("-r deletes only the folder's objects, after it shows their number", async () => {
    await using cli = await serveVolume();
    for (const path of ["logs/1", "logs/2/3", "logs-old", "logs2/x", "logs"]) await cli.write(path, "12");
    const asked = await cli.volume(["rm", "data", "logs", "-r"]);
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain("Delete 2 objects (4 B) in 'logs/' in 'data'?");
    expect((await cli.volume(["rm", "-ry", "data", "logs"])).stdout).toBe(
      "Deleted 2 objects (4 B) in 'logs/' in 'data'.\n",
    );
    expect(await cli.paths()).toEqual(["logs", "logs-old", "logs2/x"]);
    expect(await cli.volume(["rm", "-ry", "data", "logs/"])).toMatchObject({ code: 1 });
    expect(await cli.volume(["rm", "-ry", "data", "/"])).toMatchObject({ code: 0 });
    expect(await cli.paths()).toEqual([]);
  });
});

describe("delete and restore", () => {
  test("moves a volume to the trash, and restores it with its content", async () => {
    await using cli = await serveVolume();
    await cli.write("kept", "value");
    expect(await cli.volume(["delete", "data"])).toMatchObject({ code: 2 });
    const asked = await cli.volume(["delete", "data"], { typed: "yes\n" });
    expect(asked.stderr).toContain("restored for 7 days");
    expect(asked).toMatchObject({ code: 0, stdout: "'data' was deleted. You can restore it for 7 days.\n" });
    expect((await cli.volume(["ls"])).stderr).toContain("No volumes. Create one with");
    expect((await cli.volume(["ls", "--deleted"])).stdout).toMatch(
      /^data\tvol-\w+\t\d+ s\t\d{4}-\d\d-\d\d \d\d:\d\d UTC\n$/,
    );
    expect(await cli.volume(["restore", "data"])).toMatchObject({ code: 0 });
    expect(String(await cli.read("kept"))).toBe("value");
    expect((await cli.volume(["ls", "--deleted"])).stderr).toContain("The trash is empty.");
    expect(await cli.volume(["restore", "data"])).toMatchObject({ code: 1 });
  });

  test("restores the older of two volumes of the same name by its id", async () => {
    await using cli = await serveVolume();
    await cli.write("which", "first");
    await cli.volume(["delete", "data", "-y"]);
    await cli.volume(["create", "data"]);
    await cli.volume(["delete", "data", "-y"]);
    const ids = JSON.parse((await cli.volume(["ls", "--deleted", "--json"])).stdout).map(
      (one: { id: string }) => one.id,
    );
    expect(ids).toHaveLength(2);
    expect(await cli.volume(["restore", "data", "--id", ids[1]])).toMatchObject({ code: 0 });
    expect(String(await cli.read("which"))).toBe("first");
  });

  test("keeps a mounted volume, and names the services that mount it", async () => {
    await using cli = await serveVolume();
    await cli.api.deploy({ function_name: "app", volumes: '{"/data": "data"}' }, nodeSource(helloServer()));
    const { code, stderr } = await cli.volume(["delete", "data", "-y"]);
    expect(code).toBe(1);
    expect(stderr).toContain("The volume 'data' is mounted by 'app'");
  });
});
