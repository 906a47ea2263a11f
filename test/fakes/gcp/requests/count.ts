/**
 * Prints the distinct methods of a recorded run, sorted, and their number.
 *
 *     PORTSIDE_GCP_REQUESTS=/tmp/requests npx vitest run --project cloud test/adapters/gcp test/fakes/gcp
 *     node test/fakes/gcp/requests/count.ts /tmp/requests
 */
import { readFileSync } from "node:fs";

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("Missing file of recorded methods.");
const methods = [...new Set(readFileSync(file, "utf8").trim().split("\n"))].sort();
console.log(`${methods.join("\n")}\n${methods.length} methods`);
