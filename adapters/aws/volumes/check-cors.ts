/** Checks that web pages can use the signed URLs of volumes. */
import { type Finding, pass, warn } from "../../../core/domain/wire/check.ts";
import { nameOf } from "../call-policy.ts";
import { type ClientSource, sendCommand } from "../clients.ts";
import { awsFault } from "../errors.ts";
import { readText } from "../state-bucket.ts";
import { corsRules } from "./bucket-settings.ts";
import { digestOfRecords, recordsPrefix } from "./names.ts";
import { parseRecords } from "./record.ts";
import { decodedKey } from "./s3-calls.ts";

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

/** True if a rule lets pages of any origin read and write objects, and read their ETags and ranges. */
const hasCors = async (Bucket: string, clients: ClientSource): Promise<boolean> => {
  const [wanted] = corsRules();
  const holds = (found: readonly string[] | undefined, needed: readonly string[] | undefined) =>
    found?.includes("*") === true || (needed ?? []).every((one) => found?.includes(one));
  try {
    const { CORSRules = [] } = await sendCommand(clients, "s3", "GetBucketCorsCommand", { Bucket });
    return CORSRules.some(
      (rule) =>
        holds(rule.AllowedOrigins, wanted?.AllowedOrigins) &&
        holds(rule.AllowedMethods, wanted?.AllowedMethods) &&
        holds(rule.AllowedHeaders, wanted?.AllowedHeaders) &&
        holds(rule.ExposeHeaders, wanted?.ExposeHeaders),
    );
  } catch (error) {
    // https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketCors.html
    if (nameOf(error) === "NoSuchCORSConfiguration") return false;
    throw error;
  }
};

/** Checks the buckets of some volumes. Yields nothing if the state bucket does not exist, which `checkResources` reports. */
export async function* checkCors(stateBucket: string, clients: ClientSource): AsyncGenerator<Finding> {
  try {
    const buckets = await liveBuckets(stateBucket, clients);
    const checked = await Promise.all(buckets.map((one) => hasCors(one, clients)));
    const without = buckets.filter((_, index) => checked[index] === false);
    const [first] = without;
    if (first === undefined) return yield pass(WHAT, `${buckets.length} buckets checked`);
    const rules = JSON.stringify({ CORSRules: corsRules() });
    yield warn(
      WHAT,
      `${without.length} of ${buckets.length} buckets lack Portside's CORS rules. The server sets them when it starts, ` +
        "unless it has set them before",
      `aws s3api put-bucket-cors --bucket ${first} --cors-configuration '${rules}'`,
    );
  } catch (error) {
    if (awsFault(error)?.kind !== "state")
      yield warn(WHAT, `the check failed: ${(error as Error).message} (${nameOf(error)})`);
  }
}
