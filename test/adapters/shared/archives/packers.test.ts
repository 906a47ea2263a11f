/** Accepts archives of real packers: GNU tar in each of its formats and Python's tarfile. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unpack } from "../../../support/archives/unpacking.ts";
import { walkArchive } from "../../../support/archives/walking.ts";
import { needs } from "../../../support/vitest/machine.ts";

let folder: string;
const deep = join(..."abcdefghijklmnopqrstuvwxyz".split("").map((letter) => letter.repeat(8)));
const files: Readonly<Record<string, string>> = {
  "index.js": "run()",
  ".hidden": "x",
  "with space.txt": "x",
  "ünï çødé/日本語.txt": "x",
  [join(deep, "deep.txt")]: "x",
  [`${"n".repeat(150)}.txt`]: "x",
  "empty.txt": "",
  "large.bin": "x".repeat(300_000),
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-test-"));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, "source", name, ".."), { recursive: true });
    writeFileSync(join(folder, "source", name), content);
  }
  mkdirSync(join(folder, "source", "empty-folder"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const expectWhole = async (archive: Uint8Array): Promise<void> => {
  expect(await walkArchive(archive)).toBeUndefined();
  const unpacked = await unpack(archive);
  expect(unpacked.problem).toBeUndefined();
  const found = Object.entries(unpacked.files).map(([path, { content }]) => [path, content.toString()]);
  expect(Object.fromEntries(found)).toEqual(files);
  expect(Object.keys(unpacked.folders)).toContain("empty-folder");
};

describe("GNU tar", () => {
  test.for(["gnu", "pax", "posix"])("--format=%s", async (format, context) => {
    needs(context, "tar");
    const path = join(folder, `${format}.tar.gz`);
    execFileSync("tar", ["-czf", path, `--format=${format}`, "-C", join(folder, "source"), "."]);
    await expectWhole(readFileSync(path));
  });

  test("with a global pax header, numeric owners and sorted names", async (context) => {
    needs(context, "tar");
    const path = join(folder, "full.tar.gz");
    const options = ["--format=pax", "--pax-option=globexthdr.name=g,comment=all", "--numeric-owner", "--sort=name"];
    execFileSync("tar", ["-czf", path, ...options, "-C", join(folder, "source"), "."]);
    await expectWhole(readFileSync(path));
  });

  test("with files that were appended later", async (context) => {
    needs(context, "tar");
    const path = join(folder, "parts.tar");
    const source = join(folder, "source");
    execFileSync("tar", ["-cf", path, "-C", source, "index.js"]);
    execFileSync("tar", [
      "-rf",
      path,
      "-C",
      source,
      ...Object.keys(files).filter((name) => name !== "index.js"),
      "empty-folder",
    ]);
    execFileSync("gzip", ["-f", path]);
    await expectWhole(readFileSync(`${path}.gz`));
  });
});

test.for(["USTAR_FORMAT", "GNU_FORMAT", "PAX_FORMAT"])("Python's tarfile, %s", async (format, context) => {
  needs(context, "python");
  const path = join(folder, `${format}.tar.gz`);
  const leave = format === "USTAR_FORMAT" ? "lambda i: None if len(i.name) > 150 else i" : "None";
  const code = `import tarfile,sys
with tarfile.open(sys.argv[1], "w:gz", format=tarfile.${format}) as t: t.add(sys.argv[2], arcname=".", filter=${leave})`;
  execFileSync("python3", ["-c", code, path, join(folder, "source")], { env: { ...process.env, PYTHONUTF8: "1" } });
  if (format !== "USTAR_FORMAT") return expectWhole(readFileSync(path));
  return expect(await walkArchive(readFileSync(path))).toBeUndefined();
});
