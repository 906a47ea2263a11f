/** Errors of the platform and of a storage contain the seconds of the Retry-After header, if it has seconds. */
import { expect, test } from "vitest";
import { ApiError, apiError } from "../../../hosts/client/errors.ts";
import { readStorageError } from "../../../hosts/client/storage/storage-error.ts";

const busy = (headers: Readonly<Record<string, string>>) =>
  new Response("<Error><Code>SlowDown</Code><Message>Reduce your request rate</Message></Error>", {
    status: 503,
    headers,
  });

test.each([
  [{ "retry-after": "7" }, 7],
  [{ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, undefined],
  [{}, undefined],
])("%j", async (headers, retryAfter) => {
  const found = apiError(busy(headers), { detail: "Come again." });
  expect(found).toBeInstanceOf(ApiError);
  expect(found).toMatchObject({ message: "Come again.", status: 503, retryAfter });
  expect(await readStorageError(busy(headers))).toMatchObject({
    message: "The storage rejected the request (SlowDown). Reduce your request rate.",
    status: 503,
    retryAfter,
  });
});
