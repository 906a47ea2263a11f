/** Checks that web pages can use the signed URLs of volumes. */
import type { CORSRule } from "@aws-sdk/client-s3";
import { quoteForShell } from "../../../core/domain/deploy/source/quote-for-shell.ts";
import { type Finding, pass, warn } from "../../../core/domain/wire/check.ts";
import { nameOf } from "../call-policy.ts";
import { type ClientSource, sendCommand } from "../clients.ts";
import { awsFault } from "../errors.ts";
import { readText } from "../state/state-bucket.ts";
import { hasCors, withCors } from "./bucket-settings.ts";
import { digestOfRecords, recordsPrefix } from "./names.ts";
import { parseRecords } from "./record.ts";
import { decodedKey, NO_CORS } from "./s3-calls.ts";

const WHAT = "web pages may use the URLs of volumes";

/** The maximum numbers of accounts and of buckets that the check reads. */
const MAX_ACCOUNTS = 20;
const MAX_BUCKETS = 20;

const liveBuckets = async (Bucket: string, clients: ClientSource): Promise<readonly string[]> => {
  const query = { Bucket, Prefix: recordsPrefix, MaxKeys: MAX_ACCOUNTS, EncodingType: "url" } as const;
  const { Contents = [] } = await sendCommand(clients, "s3", "ListObjectsV2Command", query);
  const keys = Contents.map(({ Key = "" }) => decodedKey(Key)).filter((key) => digestOfRecords(key) !== undefined);
  const texts = await Promise.all(keys.map((key) => readText(clients, Bucket, key, undefined)));
  return texts
    .flatMap(({ text }) => parseRecords(text) ?? [])
    .filter(({ state }) => state === "live")
    .map(({ id }) => id)
    .slice(0, MAX_BUCKETS);
};

const rulesOf = async (Bucket: string, clients: ClientSource): Promise<readonly CORSRule[]> => {
  try {
    return (await sendCommand(clients, "s3", "GetBucketCorsCommand", { Bucket })).CORSRules ?? [];
  } catch (error) {
    if (nameOf(error) === NO_CORS) return [];
    throw error;
  }
};

/**
 * Checks the buckets of some volumes. Yields nothing if the state bucket is missing, which `checkResources` reports.
 */
export async function* checkCors(stateBucket: string, clients: ClientSource): AsyncGenerator<Finding> {
  try {
    const buckets = await liveBuckets(stateBucket, clients);
    const read = buckets.map(async (bucket) => ({ bucket, rules: await rulesOf(bucket, clients) }));
    const without = (await Promise.all(read)).filter(({ rules }) => !hasCors(rules));
    const [first] = without;
    if (first === undefined) return yield pass(WHAT, `buckets checked: ${buckets.length}`);
    // The command replaces all rules of the bucket.
    const rules = quoteForShell(JSON.stringify({ CORSRules: withCors(first.rules) }));
    yield warn(
      WHAT,
      `buckets without Portside's CORS rules: ${without.length} of ${buckets.length}. The server sets the rules when it ` +
        "starts, unless it has set them before",
      `aws s3api put-bucket-cors --bucket ${first.bucket} --cors-configuration ${rules}`,
    );
  } catch (error) {
    if (awsFault(error)?.kind !== "state")
      yield warn(WHAT, `the check failed: ${(error as Error).message} (${nameOf(error)})`);
  }
}
