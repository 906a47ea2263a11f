/** Draws a chart into an element of a page, with code that loads on first use. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** Draws into an element. Returns a function that removes the drawing. */
type Draw<D> = (box: HTMLElement, data: D) => () => void;

const darkScheme = matchMedia("(prefers-color-scheme: dark)");

/**
 * Returns the ref for the element. Redraws if an input or the colour scheme changes.
 *
 * @param load imports the function that draws
 * @param dataOf returns undefined if there is nothing to draw
 * @param inputs the values on which the result of `dataOf` depends
 */
export const usePlot = <D>(load: () => Promise<Draw<D>>, dataOf: () => D | undefined, inputs: readonly unknown[]) => {
  const box = useRef<HTMLDivElement>(null);
  const draw = useSignal<Draw<D> | undefined>(undefined);
  const isDark = useSignal(darkScheme.matches);
  useEffect(() => {
    void load().then((loaded) => {
      draw.value = loaded;
    });
    const change = () => {
      isDark.value = darkScheme.matches;
    };
    darkScheme.addEventListener("change", change);
    return () => darkScheme.removeEventListener("change", change);
  }, []);
  useEffect(() => {
    const data = dataOf();
    if (box.current === null || draw.value === undefined || data === undefined) return undefined;
    return draw.value(box.current, data);
  }, [draw.value, isDark.value, ...inputs]);
  return box;
};
