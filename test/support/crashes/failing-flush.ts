/** A library that makes flushes fail with EIO, like a broken disk, in the process that loads it. */
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const source = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int fd) {
  const char *flag = getenv("FLUSHES_FAIL_IF"), *below = getenv("FLUSHES_FAIL_BELOW");
  if (flag == NULL || below == NULL || access(flag, F_OK) != 0) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  return length > 0 && (size_t)length >= strlen(below) && strncmp(path, below, strlen(below)) == 0;
}

#define FLUSH(name) \\
  int name(int fd) { \\
    static int (*real)(int); \\
    if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, #name); \\
    if (!fails(fd)) return real(fd); \\
    errno = EIO; \\
    return -1; \\
  }
FLUSH(fsync)
FLUSH(fdatasync)
`;

export interface FailingFlush {
  readonly env: Readonly<Record<string, string>>;
  fail(): void;
  heal(): void;
}

/** @param below path prefix of the files whose flushes fail */
export const failingFlush = (folder: string, below: string): FailingFlush => {
  const [code, library, flag] = ["flush.c", "flush.so", "flag"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(code, source);
  execFileSync("cc", ["-shared", "-fPIC", "-o", library, code, "-ldl"]);
  return {
    env: { LD_PRELOAD: library, FLUSHES_FAIL_IF: flag, FLUSHES_FAIL_BELOW: below },
    fail: () => writeFileSync(flag, ""),
    heal: () => rmSync(flag, { force: true }),
  };
};
