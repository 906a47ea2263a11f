/** Detects Dockerfile lines that need BuildKit: https://docs.docker.com/reference/dockerfile/ */
import type { DockerfileLine } from "./validate-dockerfile.ts";

const directive = /^#\s*syntax\s*=/i;
const instructions = [
  /^RUN\s+(?:--\S+\s+)*--(?:mount|network|security)\b/i,
  /^(?:COPY|ADD)\s+(?:--\S+\s+)*--(?:link|parents|exclude|checksum|keep-git-dir)\b/i,
];

/** Here-documents: https://docs.docker.com/reference/dockerfile/#here-documents */
const takesDocument = /^(?:RUN|COPY|ADD)\s/i;
const document = /(?:^|\s)<<-?["']?[A-Za-z_]/;

/** The maximum number of characters to match in a line. Bounds the running time of the regular expressions. */
const MAX_LENGTH = 2000;

const needsBuildKit = (line: string): boolean => {
  const at = line.indexOf("<<");
  return (
    instructions.some((one) => one.test(line)) ||
    (at > 0 && takesDocument.test(line) && document.test(line.slice(at - 1)))
  );
};

/** Returns the first line that the classic builder would reject or misread; undefined if there is none. */
export const buildKitNeed = (dockerfile: string): DockerfileLine | undefined => {
  let isHead = true;
  for (const [index, line] of dockerfile.split(/\r?\n/).entries()) {
    const text = line.slice(0, MAX_LENGTH).trim();
    // Directives precede all other lines, even comments and empty lines.
    if (isHead && directive.test(text)) return { line: index + 1, text };
    isHead &&= /^#\s*\w+\s*=/.test(text);
    if (needsBuildKit(text)) return { line: index + 1, text };
  }
  return undefined;
};
