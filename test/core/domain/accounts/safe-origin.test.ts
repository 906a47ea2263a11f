/** The URLs to which keys and sessions may go. */
import { expect, test } from "vitest";
import { isSafeOrigin } from "../../../../core/domain/accounts/safe-origin.ts";

test.each(["https://a.example", "http://localhost:80", "http://127.0.0.1", "http://127.0.0.2:8080", "http://[::1]"])(
  "%s is safe",
  (url) => {
    expect(isSafeOrigin(url)).toBe(true);
  },
);

test.each(["http://a.example", "http://10.0.0.2", "http://127.0.0.2.example.com", "ftp://localhost", "localhost", ""])(
  "'%s' is not safe",
  (url) => {
    expect(isSafeOrigin(url)).toBe(false);
  },
);
