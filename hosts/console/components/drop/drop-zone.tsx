/** A drop area for files and folders. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type DroppedItem, hasFiles, itemsOf } from "./dropped-items.ts";

interface DropZoneProps {
  readonly drop: (items: readonly DroppedItem[]) => void;
  readonly class?: string;
  /** The accessible name. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

export const DropZone = ({ drop, class: name = "", label, children }: DropZoneProps) => {
  const isOver = useSignal(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: buttons in the area do the same for the keyboard
    <div
      {...(label !== undefined && { role: "region", "aria-label": label })}
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
