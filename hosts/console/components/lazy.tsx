/** Components whose code the page loads on first use, so that the first view stays small. */
import { signal, useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Delayed, Problem } from "./resource.tsx";

const FAILED = "This part of the page failed to load. Check the connection, and reload the page.";

/**
 * Returns a component that loads its code on first use.
 * @param waiting what the page shows after a second, such as `Loading the page…`
 */
export const lazy = <P extends object>(load: () => Promise<ComponentType<P>>, waiting: string): ComponentType<P> => {
  const loaded = signal<ComponentType<P> | undefined>(undefined);
  return (props: P) => {
    const hasFailed = useSignal(false);
    const start = async (): Promise<void> => {
      hasFailed.value = false;
      try {
        loaded.value ??= await load();
      } catch {
        hasFailed.value = true;
      }
    };
    useEffect(() => void start(), []);
    const Component = loaded.value;
    if (Component !== undefined) return <Component {...props} />;
    return hasFailed.value ? <Problem error={FAILED} retry={() => void start()} /> : <Delayed>{waiting}</Delayed>;
  };
};
