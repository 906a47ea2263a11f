/** Components whose code loads on first use, so that the first view stays small. */
import { useSignal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { Late, Problem } from "./resource.tsx";

/** @param load imports the component, such as `() => import("./page.tsx").then(({ Page }) => Page)` */
export const lazy = <P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> => {
  let loaded: FunctionComponent<P> | undefined;
  return (props) => {
    const error = useSignal<unknown>(undefined);
    const isLoaded = useSignal(loaded !== undefined);
    const start = async (): Promise<void> => {
      error.value = undefined;
      try {
        loaded ??= await load();
        isLoaded.value = true;
      } catch (problem) {
        error.value = problem;
      }
    };
    useEffect(() => void start(), []);
    if (error.value !== undefined) return <Problem error={error.value} retry={() => void start()} />;
    if (!isLoaded.value || loaded === undefined) return <Late>Loading the page…</Late>;
    const Loaded = loaded;
    return <Loaded {...props} />;
  };
};
