/** Saves bytes as a file of the user. */
export const saveBlob = (blob: Blob, name: string): void => {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has started to read the blob.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
};
