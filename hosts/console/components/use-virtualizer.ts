/** A list that renders only its visible rows. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

const OVERSCAN = 12;

type Options = VirtualizerOptions<HTMLElement, HTMLDivElement>;

interface ListOptions extends Pick<Options, "count" | "getItemKey" | "getScrollElement"> {
  /** The height of a row that has not been measured, in pixels. */
  readonly rowHeight: number;
}

/** Returns a virtualizer that renders the component again when the visible range changes. */
export const useVirtualizer = ({ rowHeight, ...options }: ListOptions) => {
  const [, rerender] = useReducer((count: number) => count + 1, 0);
  const resolved: Options = {
    ...options,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => rerender(undefined as never),
  };
  const instance = useRef<Virtualizer<HTMLElement, HTMLDivElement> | undefined>(undefined);
  instance.current ??= new Virtualizer(resolved);
  const virtualizer = instance.current;
  virtualizer.setOptions(resolved);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
};
