/**
 * Validates tags by the common restrictions of the services: the comments on `tags` in the model of client-ecs, on
 * `Tag` in those of client-elastic-load-balancing-v2 and client-s3files, and
 * .../tag-editor/latest/userguide/tagging.html.
 */
const MAX_TAGS = 50;

/** "letters, numbers, and spaces representable in UTF-8, and the following characters: + - = . _ : / @" */
const ALLOWED = /^[\p{L}\p{N}\p{Z}+\-=._:/@]*$/u;

/** Describes the problem with the tags; undefined if they are valid. */
export const tagProblem = (tags: readonly (readonly [key: string, value: string])[]): string | undefined => {
  if (tags.length > MAX_TAGS) return `${tags.length} tags are more than ${MAX_TAGS}`;
  if (new Set(tags.map(([key]) => key)).size < tags.length) return "two tags have the same key";
  for (const [key, value] of tags) {
    if (key.length < 1 || key.length > 128) return `the tag's key '${key}' must have 1 to 128 characters`;
    if (value.length > 256) return `the value of the tag '${key}' has more than 256 characters`;
    if (/^aws:/i.test(key) || /^aws:/i.test(value))
      return `the key and the value of the tag '${key}' must not begin with 'aws:'`;
    if (!ALLOWED.test(key) || !ALLOWED.test(value)) return `the tag '${key}' has characters that are not allowed`;
  }
  return undefined;
};
