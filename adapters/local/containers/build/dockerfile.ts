/** What a Dockerfile requires of its builder. Pure. https://docs.docker.com/reference/dockerfile/ */

/** A line that only BuildKit understands. */
export interface BuildKitNeed {
  /** Starts at 1. */
  readonly line: number;
  readonly text: string;
}

const directive = /^#\s*syntax\s*=/i;
const instructions = [
  /^RUN\s+(?:--\S+\s+)*--(?:mount|network|security)\b/i,
  /^(?:COPY|ADD)\s+(?:--\S+\s+)*--(?:link|parents|exclude|checksum|keep-git-dir)\b/i,
];

/** Here-documents: https://docs.docker.com/reference/dockerfile/#here-documents */
const takesDocument = /^(?:RUN|COPY|ADD)\s/i;
const document = /(?:^|\s)<<-?["']?[A-Za-z_]/;

/** Longer lines are judged by their beginning: matching must not take longer than a build. */
const MOST_LETTERS = 2000;

const wantsBuildKit = (line: string): boolean => {
  const at = line.indexOf("<<");
  return (
    instructions.some((one) => one.test(line)) ||
    (at > 0 && takesDocument.test(line) && document.test(line.slice(at - 1)))
  );
};

/** The first line that the classic builder would reject or misread; undefined if it understands all lines. */
export const buildKitNeed = (dockerfile: string): BuildKitNeed | undefined => {
  let isHead = true;
  for (const [index, line] of dockerfile.split(/\r?\n/).entries()) {
    const text = line.slice(0, MOST_LETTERS).trim();
    // Directives come first, even before other comments and empty lines.
    if (isHead && directive.test(text)) return { line: index + 1, text };
    isHead &&= /^#\s*\w+\s*=/.test(text);
    if (wantsBuildKit(text)) return { line: index + 1, text };
  }
  return undefined;
};
