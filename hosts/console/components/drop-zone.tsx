/** An area on which the user drops a folder or a tar.gz. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type DroppedItem, hasFiles, itemsOf } from "./dropped.ts";

interface DropZoneProps {
  readonly drop: (items: readonly DroppedItem[]) => void;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export const DropZone = ({ drop, class: name = "", children }: DropZoneProps) => {
  const isOver = useSignal(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: buttons in the area do the same for the keyboard
    <div
      class={`drop-zone ${name} ${isOver.value ? "over" : ""}`}
      onDragOver={(event) => {
        if (!hasFiles(event.dataTransfer)) return;
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) isOver.value = false;
      }}
      onDrop={(event) => {
        isOver.value = false;
        if (!hasFiles(event.dataTransfer)) return;
        event.preventDefault();
        drop(itemsOf(event.dataTransfer));
      }}
    >
      {children}
    </div>
  );
};
