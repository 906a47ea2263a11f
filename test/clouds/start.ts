/** A platform does not start on a broken cloud account, and reports everything that is missing. */
import { describe, expect, test } from "vitest";
import { folderWith } from "../support/archives/folders.ts";
import { recordingLogger } from "../support/logs/silent-logger.ts";
import type { Cloud, Fakes } from "./cloud.ts";
import { runtimeDeps } from "./subject.ts";

/** Starts a cloud's fakes, without a provider. */
export const openFakes = async <F extends Fakes>({ start, provide }: Cloud<F>) => {
  const folder = folderWith();
  const fakes = await start("simulated");
  const { logger, logged } = recordingLogger();
  return {
    fakes,
    /** Messages that the provider has logged. */
    logged,
    start: () => provide(fakes, folder.path, { ...runtimeDeps(), logger }),
    close: async () => {
      await fakes.close();
      folder[Symbol.dispose]();
    },
  };
};

export interface StartCases<F> {
  /** Removes what the platform requires; the error message contains each of the words. */
  readonly lacking: { readonly take: (fakes: F) => void; readonly words: readonly string[] };
  /** Hides something from the doctor; the warning names it. */
  readonly hidden: { readonly hide: (fakes: F) => void; readonly word: string };
}

export const startTests = <F extends Fakes>(cloud: Cloud<F>, { lacking, hidden }: StartCases<F>): void => {
  describe(`the start on ${cloud.name}`, () => {
    test("reports all missing resources together, with the commands that create them", async () => {
      const { fakes, start, close } = await openFakes(cloud);
      lacking.take(fakes);
      const message = await start().then(
        () => "it started",
        (error: Error) => error.message,
      );
      expect(message).toContain("The platform cannot start with its current setup:");
      for (const word of lacking.words) expect(message).toContain(word);
      await close();
    });

    test("a missing permission to check is a warning in the log, and the platform starts", async () => {
      const { fakes, start, logged, close } = await openFakes(cloud);
      hidden.hide(fakes);
      const { close: stop } = await start();
      expect(logged.join("\n")).toContain(hidden.word);
      await stop();
      await close();
    });

    test("logs nothing if everything exists", async () => {
      const { start, logged, close } = await openFakes(cloud);
      const { close: stop } = await start();
      await stop();
      expect(logged).toEqual([]);
      await close();
    });
  });
};
