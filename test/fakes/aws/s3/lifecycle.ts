/**
 * Lifecycle rules: their validation and their execution.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/intro-lifecycle-rules.html,
 * .../API/API_LifecycleExpiration.html
 */
import { childOf, childrenOf, parseXml, textOf, type XmlElement } from "../xml.ts";
import { failure } from "./failure.ts";
import type { FakeBucket, LifecycleRule, S3World } from "./world.ts";

const DAY_MS = 86_400_000;

const malformed = (why: string) => failure(400, "MalformedXML", why);

/** Returns whether a rule has the current form, with a filter. The former form has a prefix instead. */
const isCurrent = (rule: XmlElement): boolean => childOf(rule, "Filter") !== undefined;

const ruleOf = (rule: XmlElement): LifecycleRule => {
  if (!isCurrent(rule) && childOf(rule, "Prefix") === undefined) throw malformed("a rule has a Filter or a Prefix");
  const expiration = childOf(rule, "Expiration");
  const date = expiration === undefined ? undefined : textOf(expiration, "Date");
  const expiresMarkers = expiration !== undefined && textOf(expiration, "ExpiredObjectDeleteMarker") === "true";
  if (date !== undefined && expiresMarkers)
    throw failure(400, "InvalidArgument", "ExpiredObjectDeleteMarker cannot be specified with Days or Date.");
  const millis = date === undefined ? undefined : Date.parse(date);
  if (millis !== undefined && millis % DAY_MS !== 0)
    throw failure(400, "InvalidArgument", "'Date' must be at midnight GMT");
  const days = (name: string, field: string): number | undefined => {
    const found = childOf(rule, name);
    return found === undefined ? undefined : Number(textOf(found, field));
  };
  const noncurrentDays = days("NoncurrentVersionExpiration", "NoncurrentDays");
  const uploadDays = days("AbortIncompleteMultipartUpload", "DaysAfterInitiation");
  if (noncurrentDays !== undefined && !(noncurrentDays > 0)) throw failure(400, "InvalidArgument", "NoncurrentDays");
  return {
    id: textOf(rule, "ID") ?? "",
    isEnabled: textOf(rule, "Status") === "Enabled",
    expiresMarkers,
    ...(millis === undefined ? {} : { date: millis }),
    ...(noncurrentDays === undefined ? {} : { noncurrentDays }),
    ...(uploadDays === undefined ? {} : { uploadDays }),
  };
};

export const parseLifecycle = (xml: string): LifecycleRule[] => {
  const elements = childrenOf(parseXml(xml), "Rule");
  if (elements.some(isCurrent) && !elements.every(isCurrent))
    throw failure(400, "InvalidRequest", "Filter element can only be used in Lifecycle V2.");
  const rules = elements.map(ruleOf);
  if (rules.length === 0 || new Set(rules.map(({ id }) => id)).size !== rules.length)
    throw malformed("at least one rule is required, and each rule needs a unique id");
  return rules;
};

const expireVersions = (world: S3World, bucket: FakeBucket, days: number): void => {
  for (const [key, versions] of [...bucket.versions])
    for (const [index, one] of versions.entries()) {
      // A version became noncurrent when its successor, the one before it in the list, was put.
      const since = versions[index - 1]?.at;
      if (since !== undefined && world.now() >= since + days * DAY_MS) world.removeVersion(bucket, key, one.versionId);
    }
};

const expireMarkers = (world: S3World, bucket: FakeBucket): void => {
  for (const [key, [only, ...others]] of [...bucket.versions])
    if (only?.isMarker === true && others.length === 0) world.removeVersion(bucket, key, only.versionId);
};

const apply = (world: S3World, bucket: FakeBucket, rule: LifecycleRule): void => {
  const now = world.now();
  if (rule.date !== undefined && now >= rule.date)
    for (const key of [...bucket.objects.keys()]) world.removeObject(bucket, key);
  if (rule.noncurrentDays !== undefined) expireVersions(world, bucket, rule.noncurrentDays);
  if (rule.expiresMarkers) expireMarkers(world, bucket);
  for (const [id, { at }] of [...bucket.uploads])
    if (rule.uploadDays !== undefined && now >= at + rule.uploadDays * DAY_MS) bucket.uploads.delete(id);
};

/** Runs the rules, as S3 does daily. */
export const runLifecycle = (world: S3World): void => {
  for (const bucket of world.live.values())
    for (const rule of bucket.lifecycle) if (rule.isEnabled) apply(world, bucket, rule);
};
