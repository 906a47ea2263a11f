/** Collects standard output, so that a test can wait for a text in it. */
export const watchOutput = () => {
  let text = "";
  let wake = () => {};
  return {
    onOutput: (more: string) => {
      text += more;
      wake();
    },
    until: async (pattern: RegExp, from = 0): Promise<RegExpExecArray> => {
      for (;;) {
        const match = pattern.exec(text.slice(from));
        if (match !== null) return match;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    length: () => text.length,
  };
};
