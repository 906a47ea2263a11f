/** Keeps the frame of the console if a page fails to render, for example because of a malformed response. */
import { Component, type ComponentChildren } from "preact";
import { Problem } from "../components/resource.tsx";

interface BoundaryProps {
  /** The URL of the page. A different URL clears the error. */
  readonly at: string;
  readonly title: string;
  readonly children: ComponentChildren;
}

interface BoundaryState {
  readonly at?: string;
  readonly error?: unknown;
}

export class PageBoundary extends Component<BoundaryProps, BoundaryState> {
  static override getDerivedStateFromProps = ({ at }: BoundaryProps, state: BoundaryState): BoundaryState | null =>
    at === state.at ? null : { at, error: undefined };

  static override getDerivedStateFromError = (error: unknown): BoundaryState => ({ error });

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override render({ title, children }: BoundaryProps, { error }: BoundaryState) {
    if (error === undefined) return children;
    return (
      <>
        <h1>{title}</h1>
        <Problem
          error={`The console cannot show this page: ${error instanceof Error ? error.message : String(error)}`}
          retry={() => this.setState({ error: undefined })}
        />
      </>
    );
  }
}
