/** Archives of a few megabytes that declare or contain ten gigabytes: rejected with little CPU time and memory. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { bombs } from "../../../support/archives/odd-archives.ts";

const child = fileURLToPath(new URL("../../../support/archives/walk-child.ts", import.meta.url));

/** The expected reason for each bomb, so that none is rejected for a different reason. */
const words: Readonly<Record<keyof typeof bombs, RegExp>> = {
  "an entry that claims 10 GB": /"big" is larger than 512Mi/,
  "a pax header that claims 10 GB": /"big" is larger than 512Mi/,
  "a pax header for all entries that claims 10 GB": /"big" is larger than 512Mi/,
  "a pax header of 8 GB": /special entry/,
  "a long name of 8 GB": /special entry/,
  "zeros after the end of the archive": /has data after its end/,
  "gzip members after the end of the archive": /has data after its end/,
  "entries that are each allowed": /"big-3" makes the unpacked archive larger than 2Gi/,
  "an entry with a different size in each header": /"big" is larger than 512Mi/,
  "a gzip within the gzip": /not a tar archive/,
  "headers without end": /second extended header/,
  "endless headers for all entries": /far more data than its entries contain/,
};

/** Bombs that unpack to two permitted gigabytes. V8 collects their garbage only after more than 50 MB. */
const unpacksMuch = ["entries that are each allowed"];

test.each(Object.keys(bombs))(
  "%s",
  async (name) => {
    const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", child, name]);
    const { problem, cpuSeconds, grown } = JSON.parse(stdout);
    expect(problem).toMatch(words[name] as RegExp);
    // CPU time, which other work on the machine does not affect.
    expect(cpuSeconds).toBeLessThan(10);
    expect(grown).toBeLessThan(unpacksMuch.includes(name) ? 120 * MiB : 50 * MiB);
  },
  120_000,
);
